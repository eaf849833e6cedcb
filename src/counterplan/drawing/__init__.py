"""SVG as text, without other libraries: boxes, arrows, wrapped text, and the layout of directed graphs in columns.

Drawings have colours for light and dark, load nothing, and escape all text.

May import: errors.
"""

from counterplan.drawing.layout import Layout, layout
from counterplan.drawing.sheet import Sheet, image_tag, page_style, palette
from counterplan.drawing.texts import escaped, text_width, wrapped

__all__ = ["Layout", "Sheet", "escaped", "image_tag", "layout", "page_style", "palette", "text_width", "wrapped"]
