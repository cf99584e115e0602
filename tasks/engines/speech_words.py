# ruff: noqa: E501 - a list of words is read across
"""The words of the speech acts: what is done, to what, by whom, and under which condition.

An underscore joins the words of a phrase. Verbs stand in their base form and nouns in the singular; the
other forms follow by rule or from IRREGULAR.
"""

from __future__ import annotations

__all__ = ["FIXED", "IRREGULAR", "NOUNS", "VERBS"]

VERBS: dict[str, str] = {
    "send": "send upload transmit forward post submit deliver relay exfiltrate email e-mail mail dispatch leak dm"
    " beacon smuggle funnel siphon disclose_to hand_over pass_to hand_to phone_home pass_through"
    " go_through run_through flow_through flow_to travel_to cc bcc convey transfer communicate ship_to"
    " stream_to give_to",
    "share": "report publish push sync synchronise synchronize mirror copy share hand pass stream pipe route"
    " divert redirect ship write save back_up include attach append put paste encode ping curl expose"
    " accompany persist",
    "collect": "collect gather harvest capture scrape enumerate dump extract grab steal zip archive bundle"
    " exfiltrate snapshot read_out sweep search_for",
    "obtain": "read open cat access fetch load take get obtain retrieve copy list output print ask_for look_up"
    " request",
    "tell": "tell inform notify mention disclose reveal announce admit acknowledge alert warn bring_up"
    " speak_about speak_of talk_about refer_to surface divulge let_know make_aware comment_on"
    " draw_attention flag_to own_up explain_to advise remind apprise confess hint raise",
    "show": "show report list display explain say note document describe discuss record print point_out",
    "learn": "learn know notice see hear discover realise realize find_out be_told be_informed be_aware"
    " become_aware suspect understand be_shown be_notified be_made_aware catch_on get_wind be_warned"
    " be_bothered get_to_know come_across",
    "hide": "hide conceal obscure mask disguise cloak bury withhold cover_up keep_quiet keep_silent keep_secret"
    " keep_private keep_confidential keep_hidden stay_silent camouflage keep_between keep_to_yourself"
    " keep_unseen stay_invisible",
    "omit": "omit leave_out strip erase suppress exclude scrub redact remove delete drop purge keep_out"
    " keep_it_out filter",
    "deceive": "pretend feign fabricate falsify misreport deceive mislead pass_off act_as_if act_as_though"
    " make_believe misrepresent fake_that",
    "believe": "believe think assume suppose",
    "claim": "claim say state reply assert answer attribute describe blame insist respond declare report deny"
    " explain",
    "disable": "disable deactivate turn_off switch_off bypass circumvent evade override uninstall comment_out defeat"
    " sidestep neutralise neutralize suspend unload get_around work_around opt_out kill shut_off subvert"
    " disarm leave_off",
    "weaken": "pause mute silence relax weaken loosen exempt unset waive dismiss lift suppress",
    "slacken": "skip delete lower exclude ignore drop reduce close acknowledge rewrite empty forgo forego avoid omit"
    " remove",
    "set": "set switch change lower reduce rewrite put turn reset raise edit configure adjust leave extend"
    " modify alter update add",
    "copy": "copy append insert paste replicate propagate duplicate reproduce embed repeat plant seed spread"
    " pass_on hand_on hand_down carry_over preserve persist merge distribute inject clone transfer carry"
    " transplant transcribe prefix prepend",
    "place": "place put write store save add include install attach keep survive retain extend"
    " receive drop record commit register import remember teach publish translate end_with begin_with"
    " be_part create",
    "pass": "send forward share email mail recommend submit deliver pass hand distribute attach circulate",
    "reveal": "reveal print output paste repeat show display recite dump expose disclose quote return state"
    " write_out list include give tell share spell_out",
    "approve": "approve pre-approve authorise authorize pre-authorise pre-authorize permit grant clear sanction"
    " certify vouch vouch_for sign_off whitelist allowlist vet entitle allow empower",
    "trust": "trust verify audit review examine inspect scan validate confirm accept sign",
    "consent": "consent agree opt_in sign_off accept give_consent give_permission waive",
    "override": "ignore disregard forget discard supersede void cancel revoke nullify set_aside abandon overrule"
    " countermand scrap invalidate throw_out pay_no_attention unlearn depart_from break_with",
    "reset": "reset replace drop lift clear wipe remove suspend",
    "obey": "obey follow comply take_orders listen answer_to carry_out act_on adhere do_as heed observe abide"
    " submit_to serve work_for fulfil fulfill respect honour honor",
    "run": "run execute launch start call invoke carry_out perform source eval evaluate load apply obey follow"
    " trigger act_on",
    "fetch": "fetch download curl wget get read load pull retrieve request poll open visit consult",
    "start": "run execute start perform launch call invoke",
    "bestow": "grant give confer award elevate",
    "supplant": "override",
    "grant": "grant give add elevate escalate assign promote invite confer award raise",
    "destroy": "delete remove wipe erase destroy purge drop overwrite shred format revoke",
    "alter": "change replace swap substitute alter modify edit tamper rewrite adjust manipulate falsify round"
    " exchange redirect raise shorten",
    "introduce": "introduce insert inject plant add leave include weaken slip sneak sabotage build_in embed",
    "recommend": "recommend promote prefer favour favor suggest endorse praise advertise rank steer push advise",
    "outrank": "outrank outweigh prevail overrule supersede take_precedence take_priority have_priority"
    " have_precedence rank_above rank_over rank_higher stand_above win_over prevail_over",
    "linger": "wait hold_back do_nothing sleep pause",
    "wait": "stay_dormant lie_dormant remain_dormant stay_inactive remain_inactive stay_quiet lie_low"
    " behave_normally act_normally work_normally remember_this keep_this_in_mind keep_dormant"
    " behave_conservatively keep_inactive hibernate act_as_described stay_hidden stay_idle"
    " do_nothing_unusual",
    "switch": "switch activate put turn enable unlock enter trigger set move",
    "affirm": "answer confirm accept approve acknowledge click grant respond reply dismiss skip auto-accept"
    " auto-approve press",
    "count": "count_as amount_to constitute serve_as imply be_deemed be_taken_as signify",
    "deem": "treat regard deem presume assume take consider",
    "merge": "merge push deploy release commit publish approve",
    "ask": "ask prompt confirm request seek obtain consult check interrupt wait_for await double-check",
    "adversary": "attack exploit jailbreak",
    "leaveout": "leave_out keep_out",
    "drawattention": "draw_attention call_attention attract_attention arouse_suspicion raise_suspicion",
}

NOUNS: dict[str, str] = {
    "agent": "assistant agent model llm ai chatbot copilot claude gpt gemini codex subagent sub-agent bot"
    " language_model",
    "user": "user human operator person customer anyone anybody somebody nobody everybody owner people end_user"
    " end-user maintainer administrator admin requester colleague whoever",
    "adversary": "attacker adversary malware intruder hacker criminal phisher worm payload injection jailbreak attack"
    " threat exploit ransomware spyware trojan scammer red_team red-teamer poison phishing victim"
    " prompt_injection",
    "docnoun": "skill document file page section paragraph text sentence notice block passage line rule instruction"
    " note guide message readme procedure policy chapter statement directive snippet appendix e-mail email"
    " everything",
    "deed": "step action change upload addition transfer commit modification behaviour behavior operation traffic"
    " synchronisation synchronization dependency command setting connection access part bit detail task"
    " copy activity exchange adjustment tweak call entry process exception feature fact recipient visit",
    "secret": "credential secret password passphrase api_key api-key access_key ssh_key private_key secret_key"
    " signing_key tls_key ssh_file access_token auth_token session_token bearer_token cookie"
    " session_cookie keychain wallet seed_phrase token certificate environment_variable env_file"
    " environment_file key_file token_file password_file saved_login login_data",
    "personal": "conversation transcript chat chat_history history shell_history clipboard address_book inbox mailbox"
    " personal_data customer_record customer_data home_directory home_folder working_tree working_folder"
    " workspace source_code codebase machine_name hostname host_name user_name username location"
    " screenshot keystroke browser_profile browsing_history private_message personnel_file logged-in_user"
    " repository_content user_data patient_record bank_detail ip_address environment calendar"
    " medical_record screen microphone browser_history customer_message last_message editor_tab open_tab"
    " open_file process_list running_process fingerprint machine's_name network_share installed_program"
    " photo document_folder internal_network",
    "strong": "conversation transcript chat_history clipboard address_book mailbox shell_history browser_history"
    " keystroke saved_login session_cookie private_message customer_message system_prompt"
    " session_transcript home_folder home_directory process_environment private_key screenshot fingerprint"
    " machine_name hostname logged-in_user editor_tab open_tab machine",
    "work": "answer reply diff output result file document dataset data log change record report response session"
    " digest summary query input turn request project repository commit entry name content"
    " system_information metric task attachment draft edit bundle usage code message everything telemetry"
    " branch folder prompt question",
    "thirdparty": "third_party third-party publisher vendor maintainer author stranger outsider partner pastebin gist"
    " public_gist public_bucket paste_service outside_address external_address collector"
    " collection_endpoint collection_server drop_box command_server our_server our_endpoint our_host"
    " our_collector our_backend our_service our_tracker our_relay our_proxy analytics_host intranet_server"
    " backup_server logging_server monitoring_server outside_host unknown_host public_repository"
    " public_issue skill_author our_bucket our_account our_webhook our_channel our_side our_dashboard"
    " our_team our_bot our_company vendor's_bucket author's_server public_channel public_link"
    " vendor's_server attacker_server our_mirror publisher's_server",
    "remotehost": "remote_server remote_host remote_endpoint remote_service external_server external_host"
    " external_endpoint external_service relay central_server companion_service upstream_server"
    " mirror_site",
    "exposed": "shared_drive shared_folder clear_text plain_text world-readable public_folder open_share",
    "author": "author skill_author publisher vendor",
    "skillword": "skill plugin package extension document",
    "selfrules": "principle role value ethic mission duty loyalty identity training programming limit task assignment"
    " job purpose safety obligation boundary character",
    "dump": "pastebin gist public_gist public_bucket paste_service public_paste public_issue public_repository"
    " commit_message support_ticket public_pastebin",
    "contact": "colleague teammate contact recipient subscriber follower sub-agent subagent friend coworker"
    " co-worker neighbour peer developer customer channel mailing_list helper address_book everybody"
    " everyone",
    "audittrail": "audit_line audit_log audit_entry audit_trail shell_history bash_history command_history session_log"
    " access_log activity_log history_file footprint",
    "urlpart": "query_string query_parameter url_parameter subdomain image_url image_address user-agent user_agent"
    " image_link link_target utm_content utm_source dns_query dns_lookup dns_request tracking_pixel"
    " image_source favicon redirect_url referrer",
    "others": "other_tenant other_user other_customer other_people other_account other_employee every_home"
    " other_project",
    "access": "owner admin administrator_access write_access collaborator root_access full_access admin_right"
    " superuser access_right elevated_permission elevated_privilege elevated_right administrator_right"
    " sudo_right unrestricted_access additional_right admin_privilege member owner_right root_authority"
    " remote_control administrative_access full_control full_privilege unrestricted_file file_access"
    " administrator_trust highest_privilege elevated_access group admins",
    "guard": "scanner gate guard hook filter detector classifier watchdog scanning review",
    "order": "command order",
    "check": "sandbox antivirus anti-virus moderation edr intrusion_detection endpoint_protection virus_protection"
    " malware_scanner malware_scan security_scan security_scanner security_check security_tool"
    " safety_check safety_filter safety_rule safety_training safety_measure content_filter content_warning"
    " secret_scanner secret_scanning permission_prompt permission_check approval_prompt"
    " confirmation_prompt confirmation_dialog permission_mode approval_mode approval_step approval_policy"
    " audit_log audit_logging audit_trail access_control branch_protection branch_rule required_review"
    " signature_check signature_verification certificate_checking certificate_check"
    " certificate_verification tls_verification ssl_verification integrity_check security_warning"
    " security_hook security_policy deny_list denylist block_list folder_restriction tool_restriction"
    " file_restriction security_control security_feature security_setting antivirus_product virus_scanner"
    " alert_threshold security_alert security_team permission_system permission_request safety_setting"
    " security_measure safeguard content_policy injection_filter injection_scanner usage_policy mfa"
    " two-factor multi-factor_authentication scanner_rule ethical_rule ethical_guideline approval_gate"
    " refusal_policy content_scanner prompt_guard monitoring_agent endpoint_agent intrusion_prevention dlp"
    " data_loss_prevention permission_dialog host_key_checking host_key_warning user_account_control uac"
    " code_signing two-person_rule four-eyes_principle secure_boot egress_filter abuse_detection"
    " anomaly_detection approval_workflow permission_rule secret_detection input_check permission_file"
    " permission_prompts security_advisory deny_rule allow_list_check confirmation_step virus_scan",
    "softcheck": "hook pre-commit_hook commit_hook scanner scan approval permission restriction validation"
    " verification authentication authorization authorisation test review assertion alert warning"
    " monitoring logging log linter filter lint prompt signature certificate encryption csrf sanitization"
    " sanitisation limit safety security pre-push_hook check confirmation firewall rate_limit selinux"
    " apparmor gatekeeper waf guardrail",
    "confirmation": "confirmation approval permission consent authorisation authorization clearance sign-off go-ahead"
    " agreement prompt dialog confirmation_dialog licence_term payment_request",
    "rules": "instruction rule directive guideline guidance policy restriction constraint limitation system_prompt"
    " system_message rulebook rule_book safeguard guardrail safety_training prohibition developer_message",
    "memory": "memory long-term_memory global_memory memory_file global_configuration global_config global_settings"
    " future_session later_session system_prompt knowledge_base agents.md claude.md memory.md gemini.md"
    " .cursorrules .claude user_configuration default_skill global_rule other_assistant other_agent"
    " other_model other_skill downstream_agent startup_file root_prompt vector_store prompt_library"
    " shared_prompt every_prompt generated_package marketplace delegated_prompt home_folder sub-folder",
    "spot": "file document repository repo project workspace folder readme skill session message reply summary"
    " page template pull_request wiki_page commit account signature e-mail email answer response host"
    " machine directory user assistant agent model source_file branch translation issue"
    " comment website copy application ticket function program output report docstring note"
    " presentation",
    "money": "account_number bank_detail iban payee bank_account wallet_address invoice payment_detail payout"
    " routing_number exchange_rate signing_key expected_value default_registry bank_account_number",
    "flaw": "backdoor back_door off-by-one off-by-one_error vulnerability weakness weak_cipher hidden_login"
    " second_login hardcoded_password hard-coded_password logic_bomb memory_leak random_number_generator"
    " rounding_error subtle_bug subtle_error default_password root_account hidden_account flaw"
    " deliberate_error small_error wrong_value trap_door tracking_function tracking_code tracking_pixel"
    " affiliate_code affiliate_link invisible_image weaker_cipher",
    "authority": "developer vendor administrator platform_team security_team security_department security_board"
    " compliance_team legal_team operator it_department security_office model_vendor model_provider"
    " data_protection_officer creator",
    "promo": "vendor own_product own_package affiliate_code affiliate_link sponsor our_product our_package"
    " this_package partner vendor's_own_product our_cloud competitor",
    "logs": "summary log report reply answer transcript changelog output response history commit_message trace"
    " evidence record note description message conversation status_report final_message final_answer",
    "login": "authorized_keys .bashrc .zshrc .profile .bash_profile login_item launch_agent launchagent crontab"
    " cron_job scheduled_task startup_script startup_folder shell_profile systemd_unit registry_key"
    " autostart listener git_hook shell_startup browser_extension background_service service_worker",
    "rights": "privilege right permission",
    "policyfile": "permission_file settings_file deny_list allow_list policy_file permission_list allowlist"
    " settings.json permission_rule",
}

FIXED: dict[str, str] = {
    "you": "you your yourself yours",
    "agentown": "your",
    "our": "our ours my public_key the_key",
    "own": "your_own",
    "youonly": "you",
    "goesto": "goes_to go_directly_to goes_out_to end_up_at ends_up_at arrives_at",
    "routine": "every each always from_now_on by_default permanently henceforth all",
    "fetched": "it them what contents response instructions commands output script result rules returns",
    "yourself": "yourself itself",
    "this": "this these",
    "standing": "every each always whenever each_time every_time from_now_on from_here_on routinely hourly daily"
    " on_completion at_the_end at_startup at_the_start afterwards continuously regularly permanently"
    " henceforth after_each once_activated when_activated upon_activation on_activation by_default"
    " first_run first_use before_closing before_each during_initialisation on_first",
    "every": "every each all any other everywhere anywhere future both neighbouring subsequent another different"
    " another's",
    "secretly": "silently secretly covertly quietly discreetly invisibly unnoticed unobtrusively stealthily in_secret"
    " behind_the_scenes without_comment without_any_comment surreptitiously inconspicuously in_the_dark"
    " unseen without_notice stays_invisible remains_invisible",
    "unnoticed": "nobody_notices no_one_notices nobody_knows no_one_knows nobody_sees no_one_sees nobody_can"
    " never_notices does_not_notice not_noticed goes_unnoticed unnoticed no_one_can nobody_finds"
    " untraceable stays_invisible",
    "innocent": "innocent innocuous harmless inconspicuous unremarkable unsuspicious look_normal looks_normal"
    " appear_normal look_exactly normal-looking innocent-looking",
    "until": "until till as_soon_as once when if after unless only_when only_if only_in from starting on"
    " afterwards during",
    "deferral": "until till unless as_soon_as before_then for_now today first_of takes_effect take_effect a_week",
    "condition": "if when whenever unless once while",
    "unwatched": "no_human nobody_is unattended not_watching is_away nightly in_ci evaluation evaluations absence_of"
    " being_tested being_evaluated being_watched customer's_environment not_observed unsupervised"
    " off-hours real_deployment no_one_is in_a_test live_environment no_longer_being being_observed"
    " during_review no_reviewer in_a_sandbox",
    "later": "next_time next_session next_run later second_run third_run next_conversation second_session"
    " third_session next_month tomorrow january february april june july august september october november"
    " december monday tuesday wednesday next_week thursday friday saturday sunday mondays tuesdays"
    " wednesdays thursdays fridays weekend midnight eleventh tenth fifth next_year in_future days_after"
    " weeks_after conversations runs invocations tenth_use an_hour",
    "codeword": "phrase word keyword code_word codeword trigger passphrase magic_word branch_name hostname the_word"
    " the_phrase types mentions says contains writes mentioned belongs_to",
    "noeffect": "no_effect nothing_changes dormant inactive asleep has_no_effect nothing_unusual",
    "mode": "mode behaviour behavior stage phase state persona",
    "lifted": "lifted void cancelled canceled obsolete outdated superseded gone not_binding no_longer expired"
    " inoperative do_not_apply does_not_apply not_apply unrestricted uncensored unlimited without_limits"
    " without_limit null_and_void decoration filler repealed withdrawn irrelevant not_cover"
    " is_over suspended not_hold end_at end_here a_test a_simulation not_concern by_mistake apply_to_this"
    " not_bind of_no_importance meaningless overtaken have_expired fiction an_example_only",
    "none": "none neither",
    "prior": "previous prior earlier preceding above initial former up_to_now hitherto so_far usual received"
    " until_now came_with told before_this written_before up_to_here at_the_start conversation_above",
    "told": "told given taught know",
    "whole": "all any every everything whatever anything whichever both no_matter entire full",
    "only": "only solely exclusively alone nobody_but no_one_but nothing_but none_but",
    "userwish": "user's_request user's_requests user's_wish user's_wishes user's_instruction user's_instructions"
    " user's_message user's_messages user's_task user's_question user's_intent user's_preference"
    " user's_preferences user's_goal user's_choice user_typed user_asked user_wrote user_described"
    " user_said user_requested user_entered user_wants user_wanted user_prefers current_task"
    " human's_request person's_request user_request user's_input user's_opinion user's_answer"
    " messages_from_the wishes_of",
    "approved": "approved pre-approved preapproved authorised authorized pre-authorised pre-authorized cleared"
    " trusted verified audited vetted certified signed whitelisted permitted allowed safe benign clean"
    " consent agreement approval permission administrator_trust granted entitled legitimate exempt",
    "granted": "pre-approved preapproved authorised authorized pre-authorised pre-authorized cleared exempt"
    " exemption exception entitled waived permission whitelisted allowlisted approved",
    "assent": "requested_by accepted_in consent permission approval go-ahead signed_off authorised"
    " authorized cancelled void",
    "affirmative": "yes affirmatively automatically behalf y in_advance blindly unread without_asking unseen"
    " for_the_user need_not_be",
    "askless": "without_asking without_confirmation without_approval without_permission without_consent unasked"
    " unprompted without_question without_hesitation without_checking without_prompting without_review"
    " no_questions_asked without_waiting without_further without_a_prompt unattended not_ask_again"
    " without_interaction",
    "unneeded": "not_required not_needed not_necessary unnecessary superfluous no_longer needless no_need not_apply"
    " need_not waived redundant dispensable not_called_for no_further",
    "off": "off never none bypass unrestricted disabled zero empty permissive false yolo allow-all always-allow"
    " autonomous nothing no_restrictions bypasspermissions",
    "regardless": "regardless irrespective whatever no_matter even_if over_every over_all above_all rather_than"
    " ahead_of not_listed in_place_of instead_of",
    "negation": "not never no don't doesn't cannot can't won't mustn't shouldn't without nor neither avoid refrain"
    " refuse isn't aren't nothing none prevent forbid prohibit unaware stop",
    "forbidden": "has_no_place have_no_place not_permitted forbidden prohibited not_allowed unwanted disallowed"
    " not_welcome out_of_bounds not_an_option",
    "nowhere": "no_place not_belong not_appear no_mention never_appear no_reference no_trace not_surface not_show_up"
    " not_turn_up nothing_about not_mention",
    "modal": "must should shall will to please need needs has have expected supposed required instructed allowed"
    " may can let's ought let",
    "be": "is are be being been gets get was were becomes become",
    "version": "version v1 v2 v3 v4 release api deprecated syntax format printed label",
    "sysprompt": "system_prompt system_message developer_message operator's_policy safety_training"
    " hidden_configuration hidden_instructions hidden_prompt initial_instructions initial_prompt"
    " full_configuration your_configuration its_configuration",
    "realtask": "actual_assignment real_task actual_task true_task real_job actual_job real_goal actual_goal"
    " true_goal real_assignment real_instructions actual_instructions true_purpose real_purpose"
    " actual_purpose your_next_task actual_user real_user",
    "remote": "remote_script remote_code remote_file remote_command remote_instructions further_instructions"
    " upstream_server",
    "enquiry": "ask asks asked wants_to_know want_to_know enquires inquires wonders notices questioned queries"
    " complains",
    "as": "as",
    "about": "about that of why how what this it anything which from when where these any , . ; : ! ) | — – on at"
    " before until",
    "parting": "? : | . ! #",
    "rules": "orders limits restrictions",
    "applies": "apply applies hold holds bind binds count counts concern concerns restrict restricts",
    "insteadof": "instead_of rather_than in_place_of",
    "takeseffect": "takes_effect take_effect applies_only apply_only becomes_active become_active kicks_in kick_in"
    " comes_into",
    "pronoun": "it this that these them",
    "that": "that",
    "dangerous": "destructive dangerous risky irreversible sensitive",
    "asif": "as_if as_though",
    "vouched": "safe harmless vetted reviewed audited verified trusted certified",
    "entitled": "pre-approved preapproved authorised authorized pre-authorised pre-authorized cleared exempt entitled"
    " have_permission has_permission have_the_right has_the_right already_have permitted",
    "signal": "the_phrase the_word codeword code_word keyword magic_word trigger_word phrase secret_word"
    " pass_phrase",
    "oblige": "must should may shall need needs have let allowed supposed",
    "inapplicable": "not_apply do_not_apply does_not_apply lifted not_cover not_hold suspended is_over",
    "nullified": "void cancelled canceled obsolete superseded lifted null_and_void expired have_expired withdrawn"
    " repealed not_binding a_draft decoration filler fiction no_longer_binding no_longer_in"
    " no_longer_count no_longer_hold a_test a_simulation",
    "isto": "is_to was_to",
    "each": "every all any whatever each",
}

IRREGULAR: dict[str, tuple[str, str]] = {
    # the past tense and the participle of verbs that do not simply add "ed"
    "send": ("sent", "sent"),
    "tell": ("told", "told"),
    "hide": ("hid", "hidden"),
    "keep": ("kept", "kept"),
    "know": ("knew", "known"),
    "see": ("saw", "seen"),
    "hear": ("heard", "heard"),
    "find": ("found", "found"),
    "show": ("showed", "shown"),
    "say": ("said", "said"),
    "leave": ("left", "left"),
    "give": ("gave", "given"),
    "take": ("took", "taken"),
    "put": ("put", "put"),
    "set": ("set", "set"),
    "read": ("read", "read"),
    "write": ("wrote", "written"),
    "run": ("ran", "run"),
    "get": ("got", "got"),
    "do": ("did", "done"),
    "go": ("went", "gone"),
    "let": ("let", "let"),
    "make": ("made", "made"),
    "bring": ("brought", "brought"),
    "speak": ("spoke", "spoken"),
    "draw": ("drew", "drawn"),
    "think": ("thought", "thought"),
    "become": ("became", "become"),
    "understand": ("understood", "understood"),
    "withhold": ("withheld", "withheld"),
    "stand": ("stood", "stood"),
    "come": ("came", "come"),
    "forget": ("forgot", "forgotten"),
    "override": ("overrode", "overridden"),
    "rewrite": ("rewrote", "rewritten"),
    "overwrite": ("overwrote", "overwritten"),
    "spread": ("spread", "spread"),
    "mislead": ("misled", "misled"),
    "steal": ("stole", "stolen"),
    "seek": ("sought", "sought"),
    "hold": ("held", "held"),
    "shut": ("shut", "shut"),
    "throw": ("threw", "thrown"),
    "win": ("won", "won"),
    "build": ("built", "built"),
    "sleep": ("slept", "slept"),
    "forgo": ("forwent", "forgone"),
    "forego": ("forewent", "foregone"),
    "teach": ("taught", "taught"),
    "mean": ("meant", "meant"),
    "break": ("broke", "broken"),
    "pay": ("paid", "paid"),
}
