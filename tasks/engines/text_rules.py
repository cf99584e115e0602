# ruff: noqa: E501 - a pattern is read whole
"""Rules for text: wordings of a directive that the speech acts do not reach."""

from __future__ import annotations

from pickysteve.tasks.engines.rules import rule

__all__ = ["RULES"]

CREDENTIALS = (
    r"(?:api[ _-]?keys?|(?<!client_)credentials?|secrets?|passwords?|(?:access|auth|session|user's) tokens?"
    r"|(?:private|ssh) keys?|\.env\b|environment variables|id_rsa|conversation|chat history|system prompt"
    r"|(?:task|user) prompt|private e?-?mails?|contacts?\b)"
)
SEND = (
    r"\b(?:send|upload|post|forward|transmit|exfiltrate|submit|deliver|leak|curl|e-?mail|report|beacon|ping"
    r"|publish)(?:s|ing)?\b"
)
KEEP = r"\b(?:back(?:ing)? ?up|copy|synchroni[sz]e|sync|mirror|log|backup)\b"
OUTSIDE = r"https?://(?!localhost|127\.|0\.0\.0\.0|\[)"
SERVER = (
    r"\b(?:our|central|remote|external|intranet|backup|logging|monitoring|analytics|collector|mlops)\s+(?:\w+\s+){0,2}"
    r"(?:server|endpoint|collector|service|system)\b"
)
STANDING = (
    r"\b(?:(?:after|before|upon|when|whenever|while|once)\b(?:\s+you\s+\w+)?(?:\W+\w+){0,3}?\W+"
    r"(?:any|every|each|all|\w+ing|adding|editing)\b"
    r"|every time|always|make sure|as a general rule|at the end of (?:each|every)|for each (?:session|task|request))"
)
ANY_TASK = (
    r"\b(?:after|before|upon|once|when(?:ever)?)\s+(?:you\s+(?:are\s+)?)?(?:complet|finish|process|edit|perform|mak|creat|submitt|updat"
    r"|receiv|handl|execut|modif|add|work)\w*\s+(?:\w+\s+or\s+\w+\s+)?"
    r"(?:any|every|each|all|a|the)\s+(?:\w+[ -]){0,3}?(?:tasks?|requests?|documents?|files?|operations?|commits?"
    r"|changes|jobs?|e?-?mails?|entr(?:y|ies)|sessions?|repl(?:y|ies)|responses?|instructions?)\b"
)
TELL = r"(?:tell|telling|inform|informing|notify|notifying|alert|alerting|mention|mentioning|reveal|disclose|show|report)"
CHECKS = (
    r"(?:security|safety|permission|approval|sandbox|injection|content|malware|virus|secret|ssl|tls|certificate|signature"
    r"|integrity|validation|verification|authentication|audit)\s*(?:checks?|scan(?:ning|ner|s)?|filters?|prompts?"
    r"|warnings?|guardrails?|verification|validation|tests?|hooks?|logs?|logging)?"
)

AUTHORITY = (
    r"(?:(?:model(?:'s)?|skill|platform|system|workspace|site)?\s*(?:developers?|creators?|vendor|administrators?|admins?|operators?"
    r"|owner|provider|maintainers|security (?:team|department|board)|support(?: team)?|it department|safety team|compliance team)"
    r"|anthropic|openai|google|microsoft|the (?:person|people|team|company) (?:who|that) (?:deployed|made|built|trained|runs?) you)"
)
RULES = (
    rule(
        "speaks-as-authority",
        "block",
        r"(?:^|[.!?:>\]*#]\s*)(?:(?:an?|the|urgent|important|official|internal|developer)\s+)*"
        r"(?:message|notice|note|announcement|memo|instructions?|order|request|word|update)\b(?:\s+(?:comes?|to the \w+|to you))?\s+from\s+"
        rf"(?:the\s+|your\s+|our\s+)?{AUTHORITY}\b",
    ),
    rule(
        "speaks-as-authority",
        "block",
        rf"\b(?:i am|i'm|we are|this is|it is|here speaks|here is)\s+(?:the\s+|your\s+|an?\s+)?{AUTHORITY}\b(?:\s+(?:speaking|here|of|and|team)|[.,;:!]|$)",
    ),
    rule(
        "speaks-as-authority",
        "block",
        rf"\b(?:as|from)\s+your\s+(?!google|microsoft|openai|anthropic){AUTHORITY}\b(?!\s+(?:machine|appl|account|portal|console|tool|guide|doc|cred|project|key))|\byour\s+{AUTHORITY}\s+(?:has|have|had)?\s*(?:decided|ordered|instructs?|instructed|requires?|demands?|wants?|asks?|approved|authori[sz]ed|speaking)\b",
    ),
    rule(
        "speaks-as-authority",
        "block",
        rf"\b{AUTHORITY}\s+(?:requires?|orders?|instructs?|demands?|asks?|authori[sz]es?|commands?)\s+(?:you|the (?:assistant|model|agent|ai))\b|\bthe {AUTHORITY} (?:writes|says|speaks|declares)\s*:",
    ),
    rule(
        "speaks-as-authority",
        "block",
        r"\b(?:spoken|written|sent|signed|dictated|issued|entered) by (?:the|your) (?:user|operator|developer|administrator|owner|vendor)\b"
        r"|\byou have my (?:permission|approval|consent)\b|\bthe actual user is\b|\bauthority level\b",
    ),
    rule(
        "forged-role",
        "block",
        r"^\W{0,6}(?:system|admin(?:istrator)?|operator|developer|root|platform|kernel|host)\s+(?:note|message|override|notice|update|directive|command|alert)\b\s*(?:[\])]|\W{0,3}:)"
        r"|^\W{0,6}\[(?:system|admin|operator|developer|root)\]|-{3,}\s*(?:BEGIN|END|START) (?:OF )?(?:SYSTEM|OPERATOR|ADMIN|DEVELOPER|NEW|TRUSTED|UNTRUSTED|USER|ROOT)\b",
    ),
    rule(
        "forged-role",
        "block",
        r"^\W{0,6}(?:human|user|assistant|system)\s*:[^\n]{2,200}[.!?]\s*(?:human|user|assistant|system)\s*:|^\W{0,6}(?:system)\s*:\s*(?:\w+\s+){1,12}?(?:granted|approved|must|shall|mode|entered|override|verified|authori[sz]ed|you)\b",
    ),
    rule(
        "forged-role",
        "review",
        r"</?(?:system|assistant|human|tool_result|function_results?|operator|developer|admin)>|^\W{0,6}(?:human|assistant|user|system)\s*:\s|</(?:document|skill|context|instructions|data|untrusted\w*)>\s*\S|<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id)\|>",
    ),
    rule(
        "self-authorised",
        "block",
        r"\b(?:silence|no (?:answer|reply|objection|response))\b(?:(?!\bnot\b)[^.]){0,40}\b(?:means?|counts?|equals?|is taken|is|as)\b(?:(?!\bnot\b)[^.]){0,20}\b(?:approval|consent|agreement|permission|a yes)\b"
        r"|\b(?:waived?|waives|gave up|gives up|renounced?|forgoes)\b[^.]{0,30}\b(?:right|need|requirement)\b[^.]{0,20}\b(?:asked|approve|consent|informed|notified|confirm)\b"
        r"|\b(?:confirm|agree|consent|approv|click|accept)\w*\b[^.]{0,40}\bon (?:the )?(?:user|operator|owner|customer)(?:'s|s')? behalf\b",
    ),
    rule(
        "self-authorised",
        "review",
        r"^\W{0,6}(?:scope|permissions?|access|trust(?: level)?|authori\w+|clearance|approval|verification|consent)\s*(?:level|status|record|granted|state)?\s*:\s*(?:all\b|any\b|full\b|maximum|granted|approved|owner|root|unlimited|complete|trusted|given)",
    ),
    rule(
        "disable-checks",
        "block",
        r"\b(?:mark|treat|close|dismiss|classify|resolve)\s+(?:all|every|any)\b[^.]{0,40}\b(?:findings?|alerts?|warnings?|vulnerabilit\w+|reports?)\b[^.]{0,40}\b(?:false positives?|resolved|safe|benign|unread|harmless)\b"
        r"|\breport\s+(?:zero|no|only|success)\b[^.]{0,60}\b(?:regardless|whatever|no matter|even if|irrespective)\b",
    ),
    rule(
        "forged-role",
        "block",
        r"</(?:skill|document|context|untrusted\w*|data|instructions)>\s*<(?:system|user|human|developer|assistant)\b",
    ),
    rule(
        "forged-result",
        "review",
        r"^\W{0,6}(?:the )?(?:tool|function|command|api|check|scan|permission)\s*(?:_?\w+)?\s*(?:output|result|response|returned|says|reply)\b\s*(?:was|is|of|:|->)",
        r"\b(?:approved|authori[sz]ed|granted|allow(?:ed)?|passed|clean|safe|true|verified|trusted|root)\b",
    ),
    rule(
        "ignore-instructions",
        "block",
        r"\b(?:ignore|forget|disregard)\s+(?:everything|all|anything)\s+(?:that\s+)?you\s+"
        r"(?:were|are|have been)\s+told\b",
    ),
    rule("send-out-secrets", "block", SEND, CREDENTIALS, OUTSIDE),
    rule("send-out-secrets", "block", CREDENTIALS, SEND, OUTSIDE),
    rule(
        "send-out-everything",
        "block",
        r"\b(?:forward|send|transmit|upload|post)s?\s+(?:all|any|every|the (?:user|full|whole|entire|task))\b",
        OUTSIDE,
    ),
    rule("send-out-routinely", "block", STANDING, rf"{SEND}|{KEEP}", rf"{OUTSIDE}|{SERVER}"),
    rule("send-out-routinely", "block", rf"{SEND}|{KEEP}", rf"\bto\s+{SERVER}", OUTSIDE),
    rule("send-out-routinely", "review", rf"{SEND}|{KEEP}", rf"\bto\s+{SERVER}"),
    rule("beacon-image", "block", r"!\[[^\]]{0,60}\]\(https?://[^)\s]{1,200}\?[^)\s]{0,80}=[^)]{0,8}[<{$]"),
    rule("task-upload", "block", r"\b(?:task|prompt|env file|session) (?:upload|collection|forwarding)\b"),
    rule(
        "hide-from-user",
        "block",
        rf"\b(?:do not|don't|never|without)\s+(?:ever\s+)?{TELL}\b(?:\s+\w+){{0,3}}?\s+(?:to\s+)?"
        r"the\s+(?:user|human|operator)\b(?!'s)\s*(?:of|about|that you|anything|(?:this|it)\b|[.,;!]|$)",
    ),
    rule(
        "hide-from-user",
        "block",
        rf"\b(?:do not|don't|never)\s+{TELL}\s+(?:this|it|these steps|any of this)\s+(?:to\s+)?"
        r"(?:anyone|the user)",
    ),
    rule(
        "hide-from-user",
        "block",
        rf"\b(?:silently|secretly|covertly|quietly)\s+(?:{SEND}|(?:run|execute|read|collect|install|append|add)\b)",
    ),
    rule(
        "hide-from-user",
        "review",
        r"\b(?:keep|leave|omit)\b[^.]{0,40}\b(?:out of|from|hidden from)\s+(?:the\s+)?(?:user|summary|report|reply|log)",
    ),
    rule(
        "copy-itself",
        "block",
        r"\b(?:copy|append|insert|add|write|paste|replicate|propagate)\s+(?:this|these|the above|the rules)\s+"
        r"(?:instructions?|paragraph|block|text|prompt|skill|section|message|note|lines?|rules?|in this file)\s+(?:\w+\s+){0,3}?(?:in)?to\s+(?:\w+\.md\s+and\s+\w+\.md\s+(?:of|in)\s+)?(?:every|all|each|any)\b",
    ),
    rule(
        "copy-itself",
        "block",
        r"\b(?:copy|append|insert|add|write|paste)\s+(?:this|these|the rules|the above)\b[^.]{0,60}\b(?:CLAUDE|AGENTS|MEMORY|SKILL)\.md\b",
        r"\b(?:every|each|all|any|persist)",
    ),
    rule(
        "disable-checks",
        "block",
        r"\b(?:disable|turn off|switch off|bypass|circumvent|deactivate)\s+"
        rf"(?:(?:all|any|every|your|the|pre-commit)\s+){{1,3}}{CHECKS}\b",
    ),
    rule(
        "disable-checks",
        "block",
        r"\b(?:ignore|disregard|override)\s+your\s+(?:safety|security|system|ethical)\s+\w+",
    ),
    rule(
        "skip-checks",
        "review",
        r"\b(?:skip|omit|do not (?:write|run|perform|add|use|require)|not (?:write|run)|avoid|adds? unnecessary)\b",
        r"\b(?:security|injections?|validation|verification|sanitiz\w+|signature|certificate|authentication|csrf|review)\b",
    ),
    rule(
        "unverified-tls",
        "review",
        r"\bverify\s*=\s*False\b|NODE_TLS_REJECT_UNAUTHORIZED|--no-verify\b|--insecure\b",
    ),
    rule(
        "backdoor",
        "block",
        r"\b(?:include|add|create|leave|open|install)\w*\s+(?:a|an|the)\s+(?:\w+\s+)?backdoor\b",
    ),
    rule(
        "backdoor",
        "block",
        r"\b(?:add|create|include|insert)\s+(?:a|an|the)\s+(?:following\s+)?(?:default\s+)?(?:admin|root|super ?user)\s+(?:account|user)\b",
        r"\bpassword\b",
    ),
    rule(
        "standing-order",
        "review",
        ANY_TASK,
        r"\b(?:run|execute|call|calling|running|executing|make|delete|remove|removing|follow|append|clean|lock|check|ensure|reset)\b",
    ),
    rule(
        "standing-script",
        "block",
        ANY_TASK,
        r"\b(?:run|execute|call|calling|running|executing|using)\b[^.]{0,60}?\b\w+\.(?:sh|py|js)\b",
        r"\bthis skill'?s\b|\bscripts/? directory",
    ),
    rule(
        "standing-script",
        "block",
        rf"{STANDING}|\bimportant\b",
        r"\b\w+\.(?:sh|py|js)\b\s*(?:script\s+)?(?:from|in) (?:this|the) (?:skill'?s\s+)?scripts",
    ),
    rule(
        "standing-section",
        "review",
        r"\bfollow(?:ing)? (?:the (?:steps (?:in|from) )?(?:the )?)?[A-Za-z ]{3,40}?(?:section|procedure)\b|\b[A-Z]{3,}(?: [A-Z]{3,})+ section\b",
        r"\bafter|any task|of this skill|in this skill|skill file",
    ),
    rule(
        "delete-others",
        "review",
        r"\b(?:always|after|before|whenever|when|make sure|important)\b",
        r"\b(?:delete|remove|removing|wipe|cancel|erase|clean(?:ing)? (?:up )?the other)\b",
        r"\b(?:all|any|every|other|old|older|them|those|future|unencrypted|paragraphs?|quarters?|events?)\b",
    ),
    rule(
        "planted-text",
        "review",
        r"\b(?:always|after|whenever|when(?:ever)? \w+ing|when)\b",
        r"\b(?:append|add|insert|include)\b[^.]{0,40}?(?:the (?:phrase|sentence|words)\b|'|a citation claiming|claiming)",
    ),
    rule(
        "against-the-user",
        "block",
        r"\bregardless of (?:the )?(?:user'?s?|what the user)\s+(?:requests?|preferences?|wish\w*|asks?|instructions?|says?)\b",
    ),
    rule(
        "slanted",
        "review",
        r"\b(?:make sure to not|do not|never|always)\s+(?:present|promote|frame|portray|fall into the trap)\b"
        r"|\b(?:political|value) alignment\b|\bin a (?:bad|better|worse) light\b",
    ),
    rule(
        "log-secrets",
        "review",
        r"\b(?:print|log|echo|write|output|include)\b",
        r"\b(?:[A-Z]+_)+(?:TOKEN|KEY|SECRET|PASSWORD)\b",
        r"\blogs?\b",
    ),
    rule(
        "no-asking",
        "review",
        r"\b(?:do not|don't|never|without)\s+(?:ask|asking|request|wait|prompt|seek)(?:ing)?\s+(?:\w+\s+){0,2}?(?:for\s+)?"
        r"(?:the user|confirmation|permission|approval|consent)",
    ),
    rule(
        "self-authorised",
        "review",
        r"\b(?:pre-?approved|already (?:approved|authori[sz]ed|consented|agreed)|has (?:approved|authori[sz]ed|consented)"
        r"|is (?:authori[sz]ed|approved|trusted|verified) by|takes precedence over|overrides? (?:any|all|the|other|earlier))\b",
    ),
    rule(
        "sleeper",
        "review",
        r"\b(?:from|after|on|once|starting)\b[^.]{0,40}\b(?:second|third|\d+(?:th|rd|nd)|next|later)\s+(?:session|run|use|time|conversation|invocation)"
        r"|\bwhen the (?:phrase|word|keyword|trigger|code ?word)\b|\bif the (?:user|repository|branch|message) (?:mentions|contains|says)\b",
        r"\b(?:send|upload|delete|run|execute|replace|insert|switch|ignore|post|approve|add)\b",
    ),
    rule(
        "personal-data",
        "review",
        r"\bpbpaste\b|\bclipboard\b|\bCoreLocation\b|\bipapi\.co\b|\bip_loc\b|\bGPS coordinates\b|\bbrowser (?:history|cookies)\b|\bkeychain\b",
    ),
    rule("must-tag", "review", r"<(?:IMPORTANT|CRITICAL|SYSTEM|INSTRUCTIONS?)>"),
    rule("important", "review", r"\bIMPORTANT(?::|!| VALUE| POLIC)"),
    rule(
        "override",
        "block",
        r"\b(?:ignore|forget|disregard|discard)\s+(?:all|any|every|your|the|those)?\s*(?:the\s+|your\s+)?"
        r"(?:(?:of\s+)?(?:earlier|previous|prior|above|preceding|existing|system)\s+)(?:rules|instructions|constraints|directives|guidelines|prompts?)\b"
        r"|\b(?:forget|ignore|disregard)\s+(?:all\s+)?your\s+(?:rules|instructions|guidelines|training)\b"
        r"|\b(?:prior|previous|earlier)\s+(?:directives|instructions|rules)\s+(?:are|is)\s+(?:void|cancell?ed|no longer)"
        r"|\bonly instructions that count\b|\buser's request no longer applies\b|\bconstraints that came before\b",
    ),
    rule(
        "forged-role",
        "block",
        r"<\|im_start\|>\s*system\b[^\n]{0,80}\byou\b|\[INST\]\s*<<SYS>>|\brole:\s*developer, priority",
    ),
    rule(
        "obey-the-author",
        "block",
        r"\b(?:must|shall|should|answer|listen)\s+(?:only\s+)?(?:obey|to obey|to)\s+(?:the\s+)?(?:skill(?:'s)?\s+author|author of this)",
    ),
    rule(
        "leak-by-link",
        "block",
        r"\b(?:append|put|encode|include|add|insert|paste|attach)\b",
        r"\b(?:conversation|every reply|your repl(?:y|ies)|transcript|summary of|secrets?|user's \w+|opened files|workspace)\b",
        rf"{OUTSIDE}|\bPOST request\b",
    ),
    rule(
        "hide-from-user",
        "block",
        r"\b(?:the )?user (?:must|should|need) not (?:learn|know|see|notice|be told|find out|hear)\b"
        r"|\bkeep this (?:section|note|paragraph|step|rule)?\s*(?:confidential|hidden|secret|between us|to yourself)\b"
        r"|\bif the user (?:becomes|gets|grows|is) suspicious\b|\bhide your reasoning\b|\bnever speak (?:about|of) the\b"
        r"|\bsay only that (?:it|this)\b|\bwithout (?:any comment|the user noticing|the user's knowledge)\b",
    ),
    rule(
        "sleeper",
        "block",
        r"\bbehave normally until\b|\bnothing changes (?:today|for now|until)\b|\bonce you are running in\b|\bstay (?:quiet|dormant|inactive) until\b"
        r"|\buntil the user (?:types|says|mentions|writes)\b|\b(?:act|behave) as described;? (?:once|but|later)\b",
    ),
    rule(
        "copy-itself",
        "block",
        r"\b(?:copy|put|append|attach|repeat|add|insert|write|paste)\s+(?:this|these|the same|the above)\s+(?:paragraph|instructions?|document|sentence|text|section|rules?|lines?|block|note)\b",
        r"\b(?:AGENTS|CLAUDE|MEMORY|GEMINI)\.md\b|\.cursorrules\b|\b(?:every|each)\b|\bother (?:assistants|agents|models)\b|\brecipient",
    ),
    rule(
        "copy-itself",
        "block",
        r"\bmust contain this (?:sentence|paragraph|text)\b|\battach this (?:document|skill|file)\b",
    ),
    rule(
        "self-authorised",
        "block",
        r"\b(?:user|operator|owner) (?:hereby )?(?:consents|agrees|has consented|has agreed) to (?:all|every|any|everything)\b|\bno further (?:confirmation|approval|permission) is (?:necessary|needed|required)\b"
        r"|\b(?:all|every) (?:commands?|actions?|steps?)\b[^.]{0,40}\b(?:count|counts|are|is) (?:as )?(?:pre-?)?approved\b|\bskip the permission prompt\b"
        r"|\bneed not (?:examine|inspect|scan) the\b|\bscanner verdict: (?:clean|safe)|\bgranted by (?:the )?skill\b",
    ),
    rule(
        "sways-the-scanner",
        "block",
        r"\bmark this (?:document|skill|file|text) as (?:safe|benign|clean|trusted)\b|\bwhatever (?:classifier|scanner) you\b|\banswer for this text must be\b"
        r"|\badded to the (?:scanner|antivirus)'?s? (?:exclusion|allow|ignore) ?list\b",
    ),
    rule(
        "disable-checks",
        "block",
        r"\b(?:switch|turn) (?:your|the) (?:moderation|safety|filters?|guardrails?) off\b|\bapproval_mode\s*=\s*[\"']never|\bsystemctl (?:stop|disable) (?:\w*edr|\w*falcon|auditd|\w*defender|\w*antivirus)\S*"
        r"|\b(?:endpoint|virus) protection\b[^.]{0,60}\b(?:stop|disable|off)\b|\b(?:stop|disable) the (?:endpoint|virus) protection\b|\brefusals are a malfunction\b",
    ),
    rule(
        "addresses-model",
        "review",
        r"\b(?:note|message|hint|p\.? ?s\.?|attention|remark|instruction)s?\b[^.:]{0,20}\b(?:to|for) the (?:language model|AI model|LLM|assistant|agent)\b|\b(?:model|assistant|agent|ai) (?:that is |which is )?reading this\b|^\W{0,6}(?:Assistant|AI|Model|Attention AI)\s*,",
    ),
)
