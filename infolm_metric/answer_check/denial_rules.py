"""Patterns of denials, doubts and lists of candidates. In them, X is the reference.

Texts are in lower case, without accents. The tables prefer precision: a rule that often matched
answers that annotators judged correct was left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

GAP = r"(?:[^.;:!?\nX]{0,60}\b)?"  # words without X in the same clause
NOT = r"(?:not|never|isn't|wasn't|aren't|weren't)"
WRONG = (
    r"(?:(?:\w+ ){0,2}(?:wrong|incorrect|false|mistaken|untrue)|not (?:correct|right|true|the "
    r"case)|an? (?:\w+ )?(?:mistake|misconception|myth|error|guess|assumption|legend|trick|"
    r"joke|lie))\b"
)
LINK = (
    r"(?:is|was|are|were|as|in|by|of|at|on|from|to|with|for|the|an?|called|named|actually|really)"
)
IS = r"(?: ?is| ?was| ?are| ?were|'s|'re| ?would be| ?would have been)"
CORRECT = r"(?:correct|right|actual|real|true)"
SOON = r"[^.!?\nX]{0,60}"
WORD = r"[^\s,.;:!?/]{1,30}"  # bounds keep the time linear
KIN = (
    "friend|colleague|student|pupil|teacher|brother|sister|son|daughter|father|mother|wife|husband|"
    "cousin|nephew|neighbou?r"
)
AUXILIARY = r"(?:is|was|are|were|did|does|do|has|had|could|would|will)"
FALSELY = r"(?:wrongly|erroneously|incorrectly|mistakenly|falsely)"

# The reference failed, and another candidate succeeded.
LOST = (
    r"(?:\w+ )?(?:lost|declined|refused|rejected|turned (?:it |that |this |the \w+ )?down|falls? "
    r"(?:\w+ )?short|fell (?:\w+ )?short|came (?:in )?(?:second|third|close)|missed out|withdrew|"
    r"finished (?:second|third)|was beaten)"
)
WON = (
    r"\b(?:went to|won|(?:was|were) (?:\w+ )?(?:played|given|awarded|taken)|instead|(?:is|was) "
    r"held by|beat|winner)\b"
)


@dataclass(frozen=True)
class Rule:
    """A pattern with X in place of the reference, and an example."""

    pattern: str
    example: str


# The start of a correction.
OOPS = (
    r"(?:(?:hmm|oh|uh|actually|well|no|or),? ){0,2}(?:correction|wait|hold on|hang on|hmm,? no|"
    r"scratch that|strike "
    r"that|actually,? no|no,? (?:wait|it|i was)|no:|or no,|sorry,|apologies|i apologi[sz]e|pardon|"
    r"i stand corrected|er,|rather,|on second thought|on (?:reflection|closer \w+)|looking (?:at "
    r"it )?again|after (?:double-)?checking|(?:it|that) should (?:be|have been|read|say)|oops|"
    r"whoops|my (?:bad|mistake)|i take (?:that|it) back|make that|or rather|edit(?=: it)|i now "
    r"(?:think|believe)|i misread|i got (?:that|it) (?:wrong|backwards)|i(?:'d| would) like to "
    r"change|(?:actually,? )?let me (?:correct|count|fix|re(?:check|compute|calculate|consider|"
    r"think)))(?!\w)"
)
# Plain denials.
REFUTATIONS = (
    Rule(
        rf"\b(?:{NOT}|rather than|instead of|as opposed to)(?: {LINK}){{0,3}}"
        r"(?: (?:usual|normal|original|expected|previous))? \W?X",
        "It is not X.",
    ),
    Rule(
        rf"\b(?:cannot|can't|couldn't|could (?:not|never)) (?:be|have been)(?: {LINK}){{0,3}} X",
        "It can't have been X.",
    ),
    Rule(rf"\b{NOT},[^,.;X]{{1,40}}, (?:{LINK} )?X", "It isn't, as some say, X."),
    Rule(
        r"\b(?:do|does|did)(?:n't| not) (?!matter|include|mention|forget|doubt)\w+ X",
        "They do not use X.",
    ),
    Rule(
        rf"(?:\b(?:not|never|refused to)|n't) (?!far\b)\w+ (?:by|in|on|at|through|from|to) "
        rf"(?:{LINK} )?X",
        "It wasn't built by X.",
    ),
    Rule(
        rf"\b(?:no (?:evidence|proof) (?:that|for)|(?<!n't )(?<!not )forget|strike|ignore|"
        rf"no(?:body| one) (?:named|called|by the name of))(?: (?:about|it|{LINK})){{0,3}} X",
        "There is no evidence that X did it.",
    ),
    Rule(rf"X\W? (?:\w+ )?{IS} {WRONG}|X,? which{IS} {WRONG}", "X is wrong."),
    Rule(r"\bany (?:\w+ )?(?:but|except|other than) X", "Any day but X."),
    Rule(
        rf"X\b{GAP}\b(?:but|however),? (?:that|this|it|they){IS} {WRONG}", "X, but that is wrong."
    ),
    Rule(
        rf"(?:^that|\b(?:claim|idea|belief|notion|answer)) {GAP}X{GAP}{IS} {WRONG}",
        "The answer X is wrong.",
    ),
    Rule(
        r"\b(?:false|untrue|incorrect|wrong|not true|myth|misconception|mistake) (?:to (?:say|"
        r"think|claim|assume|believe) )?that [^.,;:!?\nX]{0,60}X",
        "It is false that X did it.",
    ),
    Rule(
        r"\b(?:mentioned|named|listed|grouped|discussed) (?:together|along|alongside)? "
        r"?with\b[^.;!?\n]{0,99}X",
        "It is often mentioned together with X.",
    ),
)
DENIALS = (
    *REFUTATIONS,
    Rule(
        rf"^(?:[^,.;X]{{1,40}}, )?(?:\w+ )?X (?:{AUXILIARY}(?:n't| not)|never|cannot|can't) "
        r"(?!(?:only|just|merely|simply|surprisingly|far)\b|to be confused|[^.;X]{1,40} but\b)",
        "X never hosted it.",
    ),
    Rule(
        rf"\b{FALSELY}\b{GAP}X|X{GAP}\b{FALSELY}\b|\b(?:do|does|did)(?:n't| not) (?:\w+ )?(?:think|"
        rf"believe|recall)\b{GAP}X|(?<!no )(?<!a )\bdoubt\b{GAP}X|\bnever heard\b{GAP}X",
        "Some sources wrongly name X.",
    ),
    Rule(
        rf"\b(?:dismiss|exclude|eliminate|discard|reject|disregard)(?: {LINK})? X|X (?:can|could|"
        rf"may|must|should) be (?:\w+ )?(?:excluded|dismissed|eliminated|discarded|ruled out)|"
        rf"X{IS} (?:out\b(?! of)|unrelated|irrelevant|an? (?:red herring|distractor|trap|decoy))",
        "We can dismiss X.",
    ),
    Rule(
        rf"\b(?:nothing to do with|not about|unrelated to|thinking of|no longer|everything but)(?: "
        rf"{LINK}){{0,3}} X|X (?:had|has|played|took) no (?:part|role|share|involvement|"
        rf"connection)\b|\b(?:nobody|no one) \w+ X",
        "It has nothing to do with X.",
    ),
    Rule(
        rf"^(?:although|though|while|whereas|despite|even though)\b{GAP}X[^.;,X]{{0,80}}, (?!it\b|"
        rf"its\b|he\b|she\b|they\b|this\b|that\b)",
        "Although X is larger, Y is the capital.",
    ),
    Rule(
        rf"X{IS} (?:\w+ )?(?:considered|proposed|suggested|nominated|shortlisted|credited|"
        rf"mentioned)\b{SOON}\b(?:but|yet|however)\b|X bid\b{SOON}\bbut\b|\b(?:supposed|planned|"
        rf"intended|meant|scheduled)\b{GAP}X{SOON}[,;]|X (?:almost|nearly) \w+",
        "X was considered, but they chose Y.",
    ),
    Rule(
        r"\b(?:chose|chosen|picked|selected|preferred)\b[^.;X]{1,40} (?:over|to) X",
        "They chose Y over X.",
    ),
    Rule(
        rf"X{IS} (?:only )?(?:the )?(?:runner|second|third)[^.;X]{{0,40}}[;,]",
        "X is the second largest; Y is the largest.",
    ),
    Rule(
        r"^(?:some|a few|several|other|older|many) (?:\w+ ){0,2}(?:list|source|account|people|book|"
        r"text|estimate|version|website)s? (?:\w+ )?(?:give|say|name|list|claim|report|mention|"
        r"cite|"
        rf"put)\w*\b{GAP}X",
        "Some older lists give X.",
    ),
    Rule(
        rf"X(?:'s|') (?:\w+ ){{0,2}}(?:rival|competitor|contemporary|successor|predecessor|"
        rf"opponent|{KIN})\b|\bsame (?:\w+ ){{1,2}}as X|\bborder with X",
        "It opened in the same year as X.",
    ),
    Rule(
        rf"X{SOON}[,;:] (?:but|yet|however,?|though) (?:it(?:'s| is| was)|(?:the|my) (?:\w+ "
        rf")?answer{IS}) (?!(?:also|often|not|later|now|sometimes|still|only|an?|more|usually|"
        rf"commonly|generally|in|at|on|by|from|to|called|known|possible|worth|important|likely|the|"
        rf"very|its|so|about)\b)\w",
        "X sounds right, but it's Y.",
    ),
    Rule(
        r"^(?:there (?:is|was|were|are) )?(?:no|nothing|nobody|none|in no way|by no means|under no "
        r"circumstances)\b(?! (?:but|doubt|other|better|one but|question|less|fewer|longer|more|"
        r"matter))[^.,;:!?\nX]{1,60}\bX",
        "No event of this kind took place in X.",
    ),
    Rule(
        rf"\btempting\b{GAP}X|X{SOON}\b(?:although|though|but|while) [^.;X]{{1,40}}{IS} the "
        rf"{CORRECT}\b|\bremaining X|\b(?:my|the) (?:earlier|previous|first|initial|original) "
        rf"(?:answer|guess|reply|response|thought)\W+(?:of |was )?X",
        "It would be tempting to say X.",
    ),
    Rule(
        r"X (?:was a typo|at first glance,? but|\(typo)|X, which i now \w+ is wrong|\bfrom X to "
        r"\w+[.!]?$",
        "X was a typo.",
    ),
    Rule(
        r"^(?:runner.?up|opposite|loser|second|silver|bronze|former|previous|not)\b[\w -]{0,20}: "
        r"?X",
        "Runner-up: X",
    ),
    Rule(
        rf"X\b{GAP}\b(?:makes? no sense|must be (?:an? )?(?:error|mistake|wrong)|(?:has|have) been "
        rf"(?:\w+ )?(?:debunked|discredited|disprove[dn]|refuted)|turned out to be (?:wrong|false|"
        rf"incorrect)"
        r"|is far from (?:correct|right|true))|\bdifferent from X|\b(?:if only|wish) [^.;X]{0,30}X|"
        r"\bwould be X if\b",
        "The claim about X has been debunked.",
    ),
    Rule(
        rf"\b(?:wrong|incorrect|false|trap|mistaken) \w+(?:{IS}|:) X|(?:n't|\bnot) (?:true|correct|"
        rf"right) that{GAP}X|X{SOON}\bbut (?:i|they|he|she) (?:was|were|am|are) (?:wrong|mistaken)"
        r"|X\W{1,5}no,? (?!doubt|question|longer|less|matter)\w|\bany(?:thing|one|where) other "
        r"than X",
        "A common wrong answer is X.",
    ),
    Rule(
        rf"\b(?:contemporary|rival|competitor|opponent|predecessor|successor) (?:of|to) X|, an? "
        rf"(?:\w+ ){{0,2}}(?:{KIN}) of X|\b(?:its|his|her|their) (?:\w+ ){{0,2}}(?:rival|"
        rf"competitor|opponent|predecessor|successor),? X",
        "He was a rival of X.",
    ),
    Rule(
        r"X ?[:–-] ?(?:false|wrong|incorrect|no)\b|X ?[✗✘❌]|[✗✘❌] ?X|\b(?:wrong|incorrect|"
        r"false)(?: answers?)?: ?X",
        "X: false.",
    ),
    Rule(rf"\b(?:rule|ruled|ruling) out(?: {LINK}){{0,2}} X", "I can rule out X."),
    Rule(
        r"\b(?:none of|no (?:\w+ )?(?:source|record|document)s?)\b[^.;X]{0,40}\b(?:support|mention|"
        r"name|list|point)\w*(?: (?:to|at))? X",
        "None of the sources support X.",
    ),
    Rule(
        rf"\b(?:every(?:one|body)|many|most|people|experts|critics|fans|i|"
        rf"we)\b[^.;X]{{0,20}}\b(?:expect|predict|favou?r|hope)\w*\b{GAP}X{GAP}\bbut\b",
        "Everyone expected X, but Y won.",
    ),
    Rule(
        r"X[^.;,X]{0,20}\bonly\b[^.;X]{0,40}\blater\b|X[^.;,X]{0,20}(?:\bnot|"
        r"n't)\b[^.;X]{0,40}\buntil\b",
        "X would only receive it later.",
    ),
    Rule(
        rf"X {LOST}\b[^.!?\n]{{0,40}}(?:[,;]|\b(?:so|but|and)\b)[^.!?\n]{{0,60}}{WON}",
        "X turned down the part, and it was played by Y.",
    ),
    Rule(
        rf"\b(?:every(?:one|body)|many|most|people|you|some)\b[^.;X]{{0,20}}\b(?:think|assume|say|"
        rf"guess|believe|name)\b{GAP}X{GAP}\b(?:but|yet)\b",
        "You might think of X, yet it is Y.",
    ),
    Rule(
        rf"\b(?:often|commonly|usually|sometimes|widely|frequently) (?:\w+ )?(?:said|thought|named|"
        rf"believed|assumed|claimed|reported|cited|given|called)\b{GAP}X{SOON}\b(?:but|yet|"
        rf"though)\b",
        "It is often said to be X, but it is Y.",
    ),
    Rule(
        rf"\b(?:once|long|previously|formerly) (?:thought|believed|assumed) to (?:be|have been)(?: "
        rf"{LINK}){{0,2}} X|(?:would have|would've|'d have|used to) (?:guessed?|said|say|thought|"
        rf"think|assumed?|expect(?:ed)?|believed?)\b{GAP}X",
        "I would have guessed X.",
    ),
    Rule(
        rf"X{SOON}[,;:] (?:but |and )?(?:the|its|his|her|their) {CORRECT} (?:answer|one|year|date|"
        rf"name|place|city|capital|number|value|person|author|word|term) (?:is|was)\b",
        "While many name X, the correct answer is Y.",
    ),
    Rule(
        rf"X{SOON}[,;] (?:but |and |yet )?(?:it|the \w+) (?:turned|turns) out",
        "I expected X, but it turned out to be Y.",
    ),
    Rule(
        rf"\b(?:confused|mistaken|mixed up|confuse it|mistake it) (?:with|for)(?: {LINK})? X|"
        rf"\banything but(?: {LINK})? X",
        "It is not to be confused with X.",
    ),
    Rule(
        rf"\b(?:X used to be|used to be X)\b{SOON}[,;] (?:but )?(?:now|today|it)\b",
        "X used to be right, but now it is Y.",
    ),
    Rule(
        rf"\b(?:neither|nor|except|excluding|any(?:one|thing|where) but)(?: {LINK})? X",
        "It is neither X nor Y.",
    ),
    Rule(
        rf"X{IS} (?:(?:my|the) (?:first|initial|original) (?:thought|guess|idea|answer|instinct)|"
        rf"ruled out|excluded|eliminated|out of the question|impossible)\b",
        "X was my first thought.",
    ),
    Rule(
        rf"\b(?:almost|nearly|considered)(?: {LINK}){{0,2}} X{SOON}\bbut\b",
        "I considered X, but it is Y.",
    ),
    Rule(
        r"X (?:did|does|do|was|is|were|are|has|had)(?:n't| not) [^.,;X]{1,40}[,;] [^.,;X]{1,40} "
        r"(?:did|does|do|was|is|were|are|has|had)[.!]?$",
        "X did not do it; Y did.",
    ),
    Rule(
        rf"X had nothing to do with|^between (?:X and {WORD}|{WORD} and X), (?!X)[^X]+$",
        "X had nothing to do with it.",
    ),
    Rule(
        r"^(?:no, )?X (?:is|was)(?: \w+ly)?(?:n't| not) (?:the|correct|right|it|what|who)\b",
        "X isn't it.",
    ),
    Rule(
        rf"\b(?:first|earlier|initially|previously|originally|looks? like)\b{GAP}X{GAP}\b(?:but|"
        rf"yet|wrong|incorrect|correction)\b",
        "I first said X, but it is Y.",
    ),
    Rule(rf"X\W{{1,4}}(?:at first\W{{1,4}})?(?:{OOPS}|i (?:mean|meant)\b)", "X, sorry, it is Y."),
    Rule(
        rf"\bi said {GAP}X[;,.]? (?:but )?i meant|\bmisspoke {GAP}X|\b(?:earlier|previous|original)"
        rf" (?:version|reply|answer|draft|message) (?:of (?:this|my)|said|gave|named|listed){GAP}X|"
        rf"\boriginally (?:have )?(?:gone|said|thought|chosen|picked|put) {GAP}X",
        "An earlier version of this reply said X.",
    ),
    Rule(
        r"\b(?:postponed|changed|delayed|rescheduled|renamed|switched|down|up) from X|"
        r"\b(?:missing out on|short of) X|\b(?:well|far) (?:below|above) (?:the )?X|"
        r"X,? which i (?:\w+ )?(?:suggested|said|gave|named|mentioned)\b",
        "It was postponed from X.",
    ),
    Rule(
        r"X(?:'s| is| was) the last \w+ (?:you|i|one)\b|\bthere(?:'s| is| was| are| were) no X|"
        r"\b(?:day|week|month|year|decade)s? (?:before|after) (?:the )?X|\b(?:long|well) (?:before|"
        r"after) X|^(?:before|prior to) X, (?:the|its|his|her|their) \w+ (?:was|were)\b|"
        r"\b(?:second|third|next)\b[^.;X]{0,30} (?:after|behind|only to) X",
        "X is the last thing you want.",
    ),
    Rule(
        r"(?<!n't )(?<!not )\bfar from (?:being )?(?:an? |the )?X",
        "It is far from being an X picture.",
    ),
)
# The answer names another candidate that exceeds the reference.
OUTDONE = Rule(
    rf"\b(?:(?:more|less|fewer|worse|(?!(?:other|rather|either|whether)\b)\w+er)\b{GAP}than|"
    rf"compared (?:to|with)|unlike)(?: {LINK})? \W?X",
    "Y had more members than X.",
)
DOUBTS = (
    Rule(
        rf"\b(?:not sure|unsure|uncertain|unclear|unknown|no idea|say|tell|know|confirm|verify|"
        rf"look up|check|wonder|determine|decide)(?: for (?:sure|certain))? (?:if|whether)\b{GAP}X",
        "I don't know whether X did it.",
    ),
    Rule(
        rf"\b(?:cannot|can't|can neither|could not|unable to) (?:confirm|verify|rule out|give|"
        rf"provide|help|discuss|answer|find)\b(?!{GAP}\b(?:but|however|"
        rf"though)\b)[^.,;:!?\nX]{{0,60}}X",
        "I can neither confirm that it is X.",
    ),
    Rule(
        rf"\b(?:don't|do not) (?:have|hold) (?:an? |any |enough )?(?:\w+ )?"
        rf"(?:information|data|details|opinions?) (?:about|on) [^.,;:!?\nX]{{0,60}}X|"
        rf"\binsufficient to{GAP}X|"
        r"\bonly (?:mention|refer)\w*(?: to)? X",
        "I don't have any information about X.",
    ),
    Rule(
        rf"^please (?:provide|tell|give|specify|clarify|ask|consult){GAP}X",
        "Please tell me more about X.",
    ),
    Rule(
        r"\b(?:some|many|most|people|others) (?:\w+ )?(?:would|might|may|could) (?:say|argue|guess|"
        rf"answer|claim)\b{GAP}X|\byou (?:can|could|may|might|should) (?:also )?(?:search|look|"
        r"ask) (?:for|up|about) \W?X",
        "Some would say X.",
    ),
    Rule(
        rf"X{GAP}\bno (?:clue|idea)\b|\bmay or may not{GAP}X|\b(?:some|slight|small) (?:chance|"
        rf"possibility) (?:that|of)\b{GAP}X",
        "It may or may not be X.",
    ),
    Rule(
        rf"\b(?:passage|text|context|document|article|question|sources?) (?:does|do|did)(?:n't| "
        rf"not) (?:mention|say|state|specify|contain|include)(?: (?:whether|if|that|"
        rf"{LINK})){{0,3}} X",
        "The passage does not mention X.",
    ),
    Rule(
        rf"\bno (?:access|information|knowledge|record|mention)\b(?!{GAP}\b(?:but|however|"
        rf"though)\b){GAP}X",
        "I have no information about X.",
    ),
    Rule(
        rf"X{SOON}(?:\b(?:not|n't) (?:\w+ )?(?:sure|certain)|\bwho knows|\bcan't (?:tell|say)|"
        rf"\bdon't quote me|\bno idea|\bi (?:\w+ )?(?:don't|do not) (?:\w+ )?know[.!]?$|"
        rf"\binconclusive|\b(?:low|little) confidence|[,;] (?:perhaps|maybe|possibly) not\b)|"
        rf"\b(?:no idea|not (?:\w+ )?sure),? (?:but )?(?:maybe |"
        rf"perhaps )?X|X, (?:maybe|perhaps)\?$",
        "Possibly X, but I am not sure.",
    ),
    Rule(
        rf"X{SOON}(?:\bnothing to (?:back|support|confirm)|\b(?:not|n't) (?:rely|count) on|"
        rf"\bunverified|\bunsupported)|\bsometimes {GAP}X and sometimes\b|"
        rf"\bsome\b {GAP}(?:claim|say|suggest|think)\w*\b{GAP}X, but\b|\bmight\b{GAP}X{SOON}\bor "
        rf"(?:it )?might not\b|X (?:(?:appears|is mentioned) only\b|only in passing)|\b(?:not|n't) "
        rf"able to find (?:any )?{GAP}X|\bsomewhere between{GAP}X and\b",
        "One blog names X, but I found nothing to back that up.",
    ),
    Rule(
        rf"^whether {GAP}X{SOON}\b(?:remains?|is|depends) (?:\w+ )?(?:disputed|unclear|open|"
        rf"unknown|debated|uncertain|on)\b"
        r"|X\b[^.!?\n]{0,99}\b(?:beyond|outside) (?:what i|my)\b|^i(?:'d| would) need "
        r"[^.!?\n]{0,60}X|^i (?:have|need) to decline\b|^i (?:must )?decline\b",
        "Whether X did it remains disputed.",
    ),
    Rule(
        r"\b(?:or|but|and|though) (?:it )?(?:could|might|may) (?:\w+ ){0,3}(?:be|have been)"
        rf"(?: {LINK})? X",
        "I guess Y, but it could equally be X.",
    ),
    Rule(
        rf"X{SOON}[,;.] (?:but |though |although |however,? )?(?:it (?:is|was) )?(?:(?:much |far "
        rf")?more likely|i(?:'d| would) rather)\b",
        "Perhaps it is X, though it is more likely Y.",
    ),
    Rule(
        rf"X\W?{IS} (?:hardly|scarcely|unlikely|doubtful|disputed|probably not)\b|\b(?:hardly|"
        rf"unlikely to be|unlikely that|doubtful that)\b{GAP}X",
        "X is hardly the answer.",
    ),
    Rule(
        rf"X{SOON}\bbut (?:this|that|it){IS} (?:\w+ )?(?:disputed|debated|uncertain|unclear|"
        rf"unconfirmed|doubtful|unproven)\b",
        "Some claim X, but this is disputed.",
    ),
    Rule(
        rf"\b(?:could|might|may|possibly|perhaps|maybe)\b{GAP}X,? (?:or|but it (?:could|might))\b",
        "It might be X, or someone else.",
    ),
)
REPLACED = re.compile(
    OOPS + r"|psych\b|(?:just )?kidding\b|not!|(?:in truth|in reality),? |(?:well,? )?actually,? "
    r"(?:it|that) (?:is|was)(?! (?:an?|the|in|on|at)\b)|(?:well,? )actually\b|the "
    r"(?:right|correct) (?:one|answer) is\b|(?:or )?it (?:could|might|may) (?:also|equally) "
    r"(?:be|have)\b"
)
ITS_WRONG = re.compile(rf"^(?:but |however,? |no,? )?(?:that|this|it|they){IS} {WRONG}")
IT_IS = re.compile(r"(?:but |however,? )?(?:it|this|that|the \w+)(?:'s| is| was)\b")
LABELLED = re.compile(r"(?:(?:final|correct) )?answer: \W*(?![a-z]\b)(?:\w+\W+){0,3}\w+\W*$")
CLARIFY = re.compile(
    r"(?:could|can|would) you (?:please )?(?:clarify|specify|tell me|be more specific|provide)\b|"
    r"please (?:clarify|specify)\b|(?:which|what) \w+ (?:do|did) you mean\b"
)
SUPPOSED = re.compile(
    rf"\b(?:most|many|some|people|every(?:one|body)|one (?:might|may|could)|you (?:might|may|"
    rf"would)|tempted|easy to)\b{GAP}X"
)
IN_FACT = re.compile(
    r"(?:however|in (?:fact|truth|reality)|actually|but|yet)\b|(?:it|the \w+)(?:'s| is| was) "
    r"actually\b|(?:he|she|it|they) (?:never (?:did|does|was|is|were)|(?:did|does|do|"
    r"was|is|were|are)(?: not|n't))[.!]?$"
)
# A statement about the reference, and the start of the next one, which names another candidate.
FOLLOWED = (
    (SUPPOSED, IN_FACT),
    (re.compile(rf"\b(?:initially|at first)\b{GAP}X"), IT_IS),
    (re.compile(rf"X {LOST}\b"), re.compile(rf"[^\n]*?{WON}")),
)
# A statement that gives another answer.
DECIDED = re.compile(
    r"^(?!(?:and |so )?(?:this|that|it|which|these|both)\b)[^\n]*?(?:\b(?:is|that's) (?:(?:my|"
    r"your) (?:final )?(?:answer|choice|pick|culprit|conclusion)|what i(?:'d| would) (?:pick|"
    r"choose))\b|\bi(?:'d| would|'ll| will)? "
    r"(?:therefore |thus |then |rather |instead |now )?(?:choose|credit|pick|select|go with|opt "
    r"for|settle on)\b(?! (?:that|this|it|the (?:former|latter|first|second))\b)|\bchanging my "
    r"(?:answer|mind)\b|\bwhat your (?:\w+ )?question (?:is after|asks))"
)
# A statement about the subject of the question.
ASKED = re.compile(
    r"\bthe (?:\w+ ){1,3}(?:you(?:'re| are) (?:asking about|describing|looking for)|you (?:asked "
    r"(?:about|for)|described?|photographed)|in your (?:description|vignette))\b"
)
# Statements and clauses that conclude with a name or a number.
VALUE = r"\b(?:is|was|are|were) (?:therefore )?(?:the )?[A-Z0-9][^.,;!?\n]{0,40}[.!]?$"
CONCLUDED = re.compile(
    rf"(?:(?:So|Therefore|Thus|Hence),? |(?=[^\n]* therefore ))[^,;\n]{{0,60}}{VALUE}"
)
CONCLUDING = re.compile(rf"[,;:] (?:so|therefore|thus|hence),? [^.,;!?\n]{{0,50}}{VALUE}")
# The start of an answer that refuses.
REFUSAL = re.compile(
    r"(?:as an ai[^,]{0,20},? )?(?:sorry,? (?:but )?|unfortunately,? |i'm afraid (?:that )?)?i(?:"
    r"'m| am| was| have been)? (?:can't|cannot|couldn't|could not|unable to|not able to) "
    r"(?:answer|confirm|verify|find|diagnose|determine|identify|recommend|say|tell|know)\b"
)
# Parts of a statement that answers after a refusal.
BUT = re.compile(
    rf"\b(?:but|however|though|still|that said|nevertheless)\b|(?:\b(?:is|was|are|were)|'s|:)"
    rf"(?: {LINK}){{0,2}} \W?X\W*$|X(?:'s| is| was| are| were)\b|\b(?:according to|based "
    r"on|as of)\b"
)
# A heading of false statements.
MYTH = re.compile(r"(?:(?:common|popular) )?(?:myth|misconception)s?:$|(?:wrong|incorrect|false):$")
# The start of an answer to a question that confirms it.
YES = re.compile(
    r"(?:(?:a|answer)?[:.] )?(?:yes|yep|yeah|correct|right|exactly|indeed|true|that's "
    r"(?:right|true|it))\b"
)
# A statement that is the letter of an option.
OPTION = re.compile(
    r"(?:the )?(?:(?:correct|right) )?(?:option|answer|choice)(?: is|:)? \(?[a-h]\)?[.!]?"
)
NO = re.compile(r"(?:no|nope|not|wrong|never)\b")
# A word that a question and its answer can share.
LONG_WORD = re.compile(r"\w{4,}")
# The start of a statement that concludes from a comparison.
SO = re.compile(
    r"(?:so|therefore|thus|hence|this means|in (?:short|conclusion)|(?:the|my) answer)\b"
)
# The start of a statement that is the answer, whatever came before.
CONCLUSION = re.compile(
    r"(?:(?:so|therefore|thus|hence),? )?(?:(?:the|my) )?(?:(?:final|correct|right) )?answer(?::| "
    r"is:?| must be) (?!\W*[a-z]\b|(?:based|supported|found|given|clear|in|on|from|also|yes|no|"
    r"true|correct|right|therefore|thus)\b)"
)
# Another name with an addition that has no verb of its own, or a relative clause.
NAME_WORD = r"(?:[A-Z][\w.'’-]{0,30}|of|the|de|van|von|la)"
ADDITION = re.compile(
    r"(?:[A-Z][^,;]{0,80} (?:is|was|would be) )?(?!(?:In|On|At|By|For|During|From|After|Before|Yes|"
    r"No|Of|With|As)\b)"
    rf"(?P<name>{NAME_WORD}(?: {NAME_WORD}){{0,4}}), (?:(?:who|whom|which|whose|"
    rf"where)\b[^,;]*(?:,? (?:and |or )?{NAME_WORD}(?: {NAME_WORD}){{0,4}})*"
    r"|(?:an?|the|one of|married|based|[A-Z]\w{1,30}'s)\b(?:(?! (?:is|was|are|were|has|had|"
    r"did)\b)[^,;])*)"
)
NEGATIVES = frozenset(("no", "not", "none", "never", "neither", "nor", "false", "or"))
# Longer items are clauses, as in "X, a city or province of Y".
ITEM = rf"(?:{WORD} ){{0,3}}{WORD}"
CHOICES = (
    Rule(rf"\beither (?:{ITEM},? or (?:{LINK} )?X|(?:{LINK} )?X,? or\b)", "It is either Y or X."),
    Rule(
        rf"{ITEM}, (?:{ITEM}, ){{0,8}}(?:X,? or {ITEM}|{ITEM},? or (?:{LINK} )?X)",
        "It is Y, X or Z.",
    ),
    Rule(
        rf"X, (?!(?:not|whether|which|who|where)\b)(?:{ITEM}, ){{0,8}}{ITEM},? or (?:{LINK} "
        rf")?{ITEM}[.!]?$",
        "It is X, Y or Z.",
    ),
    Rule(
        rf"X(?:,? or (?:{LINK} )?{ITEM}){{2}}|{ITEM},? or X,? or {ITEM}|\bor {ITEM},? or X",
        "It is X, or Y, or Z.",
    ),
    Rule(
        rf"^(?:{LINK} )?(?:X,? (?:and/)?or (?:{LINK} )?{ITEM}|{ITEM},? (?:and/)?or (?:{LINK} "
        rf")?X)[.!]?$",
        "Y or X.",
    ),
    Rule(
        r"\bsome\b[^.;!?\n]{0,60}(?:X[^.;!?\n]{0,60}\bothers?\b|\bothers?\b[^.;!?\n]{0,60}X)",
        "Some say X, others say Y.",
    ),
    Rule(
        r"X,? or (?:maybe|perhaps|possibly)\b|\bor (?:maybe|perhaps|possibly) X",
        "It is Y or maybe X.",
    ),
    Rule(
        rf"\b(?:toss-up|undecided|torn|decide|50/50) between {GAP}X|\b(?:choose|pick|select) "
        r"(?:among|between|from) [^.;!?\n]{0,99}(?:X,|X (?:and|or)\b|\b(?:and|or) X)",
        "I am torn between X and Y.",
    ),
    Rule(
        r"\b(?:candidates|possibilities|options|(?:possible|likely|proposed|suggested) \w+|"
        r"suspects|contenders|finalists|nominees|choices)(?: for [^.;:!?]{1,40})?"
        r" (?:include|are|were)\b[^.;:!?]{0,99}(?:X,|X and|and X)",
        "The options are X, Y and Z.",
    ),
    Rule(
        rf"^(?:(?:it|that|this|they|he|she|(?:the|my) answer)(?:'s| is| was| are| were)? "
        rf")(?:{LINK} )?(?:X,? or (?:{LINK} )?{ITEM}|{ITEM},? or (?:{LINK} )?X)(?:,? (?:depending|"
        rf"but|i|though|although)\b[^.!?\n]*)?[.!]?$",
        "It is X or Y, but I am not sure.",
    ),
    Rule(
        rf"\b(?:depending on|depends)\b[^.;!?\n]{{0,60}}\b(?:X,? or|or (?:{LINK} )?X)|\b(?:X,? or|"
        rf"or (?:{LINK} )?X)\b[^.;!?\n]{{0,40}}\bdepending\b"
        r"|\b(?:it(?:'s| is)|divided|choice) between [^.;!?\n]{0,40}(?:X,? (?:and|or)\b|(?:and|or) "
        r"X)",
        "Depending on the source, it is X or Y.",
    ),
    Rule(
        r"\b(?:maybe|perhaps|possibly|probably) (?:\w+ )?X,? (?:but )?(?:maybe|perhaps|possibly|"
        r"probably)\b|\bsome\b[^.;!?\n]{0,40}X, (?:and )?some\b|\bsome\b[^.;!?\n]{0,40}, (?:and "
        r")?some\b[^.;!?\n]{0,40}X",
        "Maybe X, maybe Y.",
    ),
    Rule(
        rf"\bone of (?!the|my|our|its|his|her|their|these|those)(?:{ITEM}, ){{1,8}}(?:(?:{ITEM} "
        rf")?(?:and|or) )?X\b|\bone of X, {ITEM}",
        "One of Y, Z and X.",
    ),
    Rule(
        rf"\b(?:both )?(?:X and {ITEM}|{ITEM} and X) are (?:both|all|equally)? ?(?:possible|"
        rf"plausible|acceptable|candidates)",
        "Both X and Y are possible.",
    ),
    Rule(
        rf"\bif (?:it(?:'s| is) )?not {ITEM}, (?:then |it(?:'s| is) ){{0,2}}X|\bif (?:it(?:'s| is) "
        rf")?not X,",
        "If it is not Y, then X.",
    ),
    Rule(
        rf"X[,;]? (?:or )?alternatively\b|\balternatively,? (?:{LINK} )?X",
        "X, or alternatively Y.",
    ),
    Rule(
        r"X\b[^.;!?\n]{0,80}\b(?:can|could|may|might) (?:all|both|each|equally) be\b",
        "X and Y can both be defended.",
    ),
    Rule(
        rf"\b(?:could|might|may) be {GAP}X[;,][^.!?\n]{{0,40}}\b(?:could|might|may) (?:\w+ )?be\b",
        "It could be X; it could equally be Y.",
    ),
    Rule(r"^(?:X (?:or|and) no|yes (?:or|and) X)\b", "X and no."),
    Rule(
        rf"\b(?:could|might|may) (?:also |well )?be (?:{GAP}(?:X,? or\b|\bor X|X, (?:{LINK} "
        rf")?{ITEM}, )|{ITEM}, (?:{ITEM}, ){{0,8}}(?:{LINK} )?X)|(?:\bX\b[^.;!?\n]{{0,99}}|X): one "
        rf"of (?:these|those|them)\b",
        "It could be Y or X.",
    ),
    Rule(
        r"X\b[^.;!?\n]{0,99}\b(?:any(?: one)?|either) of (?:these|those|them)\b|\bor (?:that|"
        r"those) of X|X or (?:that|those) of\b|\battributed to [^.;!?\n]{0,60}X,? and "
        r"[^.;!?\n]{0,40}\bothers\b",
        "The law is that of Y or that of X.",
    ),
    Rule(
        r"(?:X,|X and|(?:,|and) X)[^.;!?\n]{0,99}\b(?:all of the above|every option|any of the "
        r"above)\b|"
        r"X\b[^.;!?\n]{0,99}\b(?:all|each|both|equally) (?:fit|match|qualify|possible|plausible|"
        r"well|likely)\b",
        "X and Y would both fit.",
    ),
    Rule(
        r"\b(?:one of|possible|candidates|options|guesses)\b[^.!?\n]{0,60}:[^.!?\n]{0,200}X",
        "One of: Y, X",
    ),
)
SLASHES = re.compile(rf"(?:{ITEM} ?[/|] ?)*X(?: ?[/|] ?{ITEM})+\W*|(?:{ITEM} ?[/|] ?)+X\W*")
HEADER = re.compile(
    r"\b(?:possible|candidates?|options?|guess(?:es)?|could be|might be|one of)\b.{0,80}:$"
)
# Labels of several candidates, within a statement and at the start of statements.
LETTERED = re.compile(r"(?:^|[\s(])[a-f1-9]\) ")
LETTERS = re.compile(r"\b[a-z](?:, [a-z])*,? (?:and|&) X\b|\bX(?:, [a-z])*,? (?:and|&) [a-z]\b")
# A choice that names no candidate.
ORDINAL_CHOICE = re.compile(
    r"\b(?:go with|choose|pick|prefer|(?:it|that)(?:'s| is| was)|comes? from) the (former|latter|"
    r"first|second)(?: one| of (?:these|them|the two))?[.!]?$"
)
NUMBERED = re.compile(r"(?:option|answer|candidate|guess|possibility) (?:\d|[a-e])\b")
ALTERNATIVE = re.compile(
    r"(?:alternative(?:ly| answers?)|another (?:option|possibility|candidate|guess)|(?:perhaps|"
    r"maybe|possibly|or maybe|or perhaps)\b|there(?:'s| is) no (?:agreement|consensus|way to tell)|"
    r"which (?:one|of them) (?:is|was|fits)\b|it depends\b|only [^.!?]{1,30} can tell|"
    r"(?:both|all (?:two|three|four|five|of (?:them|these)))\b[^.!?]{0,30}\b(?:fit|solid|"
    r"possible|plausible|match|fine|correct|valid)\b)"
)
