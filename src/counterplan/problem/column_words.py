"""The words in names of columns and values by which a draft is inferred."""

from __future__ import annotations

import re
import unicodedata

RANKED = re.compile(
    r"(?!\d+$)[<>≤≥]?=?\s*\d.*|(.*\W)?(low|little|small|few|poor|junior|never|rarely|medium|middle|moderate|average|some"
    r"|sometimes|high|large|big|many|rich|senior|often|always|primary|secondary|bachelors?|masters?|phd)(\W.*)?",
    re.IGNORECASE | re.DOTALL,
)
PROTECTED = re.compile(
    "sex|gender|male|female|race|age|colou?r|skin|dob|orientation|sexuality|caste|tribe|native|foreign(er)?|origin"
    "|immigra(nt|tion)|migra(nt|tion)|alter|rasse|herkunft|ausland|auslaender|konfession|familienstand|verheiratet|sexe|genre|couleur|handicap|enceinte|sexo|genero|edad|raza|sesso|genere|eta|razza|civile?"
    "|married|unmarried|marriages?|matrimony|wife|husband|spouses?|spousal|widow(ed|er)?|divorced?|relationship"
    "|(ethni|etni|racial|nationalit|citizen|birth|religi|disab|marital|pregnan|maternity|geschlecht|staatsang|geburt"
    "|behinder|schwanger|naissance|matrimonial|nacionalid|nacimiento|discapac|embaraz|nazionalit|cittadin|nascita).*"
)
CODED = re.compile(
    "codes?|types?|kind|class|categor.*|group|status|edu|educ(ation)?|school(ing)?|degree|marriage|job|occupation|employment"
    "|employer|industry|sector|housing|house|purpose|property|product|channel|reason|region|state|area|country|branch"
    "|department|district|city|beruf|bildung|wohnen|zweck|branche|land|emploi|logement|educacion|empleo|vivienda"
)
"""Words in the names of columns whose whole numbers are codes; protected ones are, too, unless they are ages."""
COUNTED = re.compile(
    "ages?|alter|eta|edad|count|number|num|n|nr|no|times|amount|amt|sum|total|years?|months?|weeks?|days?|hours?|since"
    "|duration|age|size|rate|score|points|anzahl|jahre|monate|dob|birth.*|geburt.*"
)
_MONTH = "(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_TIME = r"([ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?( ?(Z|UTC|[-+][0-9]{2}:?[0-9]{2}))?)?"
DATE = re.compile(
    rf"((19|20)[0-9]{{2}}([-/.])[0-9]{{1,2}}\3[0-9]{{1,2}}|[0-9]{{1,2}}([-/.])[0-9]{{1,2}}\4([0-9]{{2}}|[0-9]{{4}})){_TIME}"
    rf"|(19|20)[0-9]{{2}}-(0[1-9]|1[0-2])|([0-9]{{1,2}}[- ])?{_MONTH},?[- ]([0-9]{{1,2}},? )?([0-9]{{2}}|[0-9]{{4}})",
    re.IGNORECASE,
)
DATED = re.compile("dates?|datum|fecha|data|day|tag|jour|since|dob|birth.*|geburt.*")
IMMUTABLE: dict[str, re.Pattern[str]] = {
    "it is about the past": re.compile(
        "since|ago|histor(y|ies|ical)|previous(ly)?|prior|past|earlier|former(ly)?|ever|first|last|tenure|seniority"
        "|experience|delinq.*|bankrupt.*|convict.*|arrest.*|offen[cs]es?|crim(e|es|inal)|recid.*|default(s|ed)?|late"
        "|overdue|arrears|derogatory|inquir(y|ies)|seit|bisher.*|ancien.*|antigu.*"
    ),
    "a person cannot choose it": re.compile(
        "child(ren)?|dependen(t|ts|ce)|kids|sibling.*|parents?|mother.*|father.*|kinder|enfants|hijos|figli|country"
        "|nation|pais|paese|blood|height|genotype"
    ),
    "it is about an address or a telephone": re.compile(
        "zip|zip ?codes?|post ?codes?|postal|plz|address|street|phone|telephone|telefon|latitude|longitude|lat|lon|lng"
    ),
    "it describes the sample": re.compile("fnlwgt|pweights?|wts?|sampl(e|es|ing)|fold|split|partition|batch|version"),
}
"""By reason: words in the names of columns for which no function is proposed."""
CALENDAR = re.compile(
    "(day|week|weekday|month|quarter|season|year|hour)( of( the)? (week|month|year|day))?"
    "|(application|applied|start|issue|opening) (day|month|year)"
)
"""Whole names of parts of dates: names of durations contain such words, too."""
UNKNOWN = re.compile(
    r"|\?+|-+|n/?a|n\.a\.|nan|null|unknown|unbekannt|inconnu|desconocido|missing|not (known|available|given|stated)"
    r"|unspecified|undefined|no (answer|data|information)|don'?t know|keine angabe",
    re.IGNORECASE,
)
"""Values that stand for a missing one."""
GAINED = re.compile(
    "income|salary|wages?|earnings|savings?|wealth|assets?|balance|deposits?|equity|profit|revenue|education|educ|edu"
    "|degree|grades?|gpa|skills?|qualification|training|score|points|rating|payments?|repaid|collateral|insurance"
    "|einkommen|gehalt|ersparnisse?|vermoegen|bildung|revenus?|epargne|salaire|ingresos?|ahorros?|reddito|risparmi"
)
LOWERED = re.compile(
    "debts?|expenses?|spending|costs?|liabilit(y|ies)|loss(es)?|bills?|utili[sz]ation|dti|ltv|rent|instal?lments?|fees?"
    "|penalt(y|ies)|schulden|ausgaben|dettes?|deudas?|gastos?|debiti|spese"
)
"""Words of what people try to have more of, and less of, where the outcomes do not tell."""
IDENTIFIER = re.compile("ids?|uuid|guid|key|index|unnamed")
POSITIVE = re.compile(
    "good|yes|y|true|approv(ed?|al)|grant(ed)?|accept(ed)?|hired?|(re)?paid|favou?rable|positive|pass(ed)?|eligible"
    "|admit(ted)?|success(ful)?|qualified|offer(ed)?|gut|ja|genehmigt|bewilligt|bon|oui|accepte|accorde|bueno|si"
    "|aprobado|concedido|buono|approvato|concesso"
)
NEGATIVE = re.compile(
    "default(ed)?|bad|refus(ed?|al)?|reject(ed)?|den(y|ied|ial)|declined?|churn(ed)?|fraud|delinquen(t|cy)|arrears"
    "|recid(ivism|ivist)?|dropout|fired|ausfall|abgelehnt|rechazado|rifiutato"
)
NOT = re.compile("not|no|non|never|nicht|kein|pas")
NO = re.compile("0|no|n|false|nein|non", re.IGNORECASE)


def words_of(text: str) -> list[str]:
    """The words of `text`, in lower case without accents; capitals inside a name begin a word."""
    spaced = unicodedata.normalize("NFKD", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)).casefold()
    letters = "".join(letter for letter in spaced if not unicodedata.combining(letter))
    return re.findall(r"[^\W\d_]+", letters)


def mentions(pattern: re.Pattern[str], text: str) -> bool:
    """Whether a word of `text` matches `pattern`."""
    return any(map(pattern.fullmatch, words_of(text)))
