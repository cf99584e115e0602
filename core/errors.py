"""The error tree: one class a situation, each message ends with what mends it.

    PickyError
        UserError                    exit code 2: the caller can mend it
            RequestInvalid           empty, too long, or not text
            SettingsInvalid          a setting that does not exist or does not fit
            SkillFormatError         a skill file that cannot be read as one
            RegistryMissing          no folder of skills there
            RegistryEmpty            a folder without a usable skill
            RegistryRefused          policy "abort", and a document is refused
            SourceInvalid            a set of sources, or one of them, that cannot be read as given
            SourceUnavailable        a repository or a server that does not hand over its skills
            VaultMissing             no folder of notes there
            IndexMissing             not ingested yet
            IndexCorrupt             files of the index disagree with its manifest
            SuiteInvalid             an evaluation suite that cannot be read
            RunMissing               no such run record
            RunsUnwritable           the runs directory refuses writes
            ServerMissing            no Prefect server to run on
            SharedUnavailable        shared storage that cannot be read or written
            SharedCorrupt            shared storage holds other bytes, or those of another key
            WorkerMissing            no workers to spread task runs over
            WorkerMismatch           a worker of another version, or with other engines or settings
            CalibrationMismatch      fitted for other models or another scoring version
            AgentUnknown             no agent of that name in the table
            AgentConfigInvalid       an agent's configuration file that we will not edit
        EngineUnavailable            exit code 1: the background engine does not answer
        ModelUnavailable             exit code 1: weights missing or wrong, or a model's host that fails
        GateUnavailable              exit code 1: the scanner cannot run, so nothing passes

A blocked request and an abstention are results, not errors.
"""

__all__ = [
    "AgentConfigInvalid",
    "AgentUnknown",
    "CalibrationMismatch",
    "EngineUnavailable",
    "GateUnavailable",
    "IndexCorrupt",
    "IndexMissing",
    "ModelUnavailable",
    "PickyError",
    "RegistryEmpty",
    "RegistryMissing",
    "RegistryRefused",
    "RequestInvalid",
    "RunMissing",
    "RunsUnwritable",
    "ServerMissing",
    "SettingsInvalid",
    "SharedCorrupt",
    "SharedUnavailable",
    "SkillFormatError",
    "SourceInvalid",
    "SourceUnavailable",
    "SuiteInvalid",
    "UserError",
    "VaultMissing",
    "WorkerMismatch",
    "WorkerMissing",
]


class PickyError(Exception):
    """Root of every error that PickySteve raises on purpose."""

    exit_code = 1


class UserError(PickyError):
    """Something the caller can mend; the message says how."""

    exit_code = 2


class RequestInvalid(UserError):
    """The request is empty, too long, or holds bytes that are not text."""


class SettingsInvalid(UserError):
    """A setting that does not exist, or a value that does not fit."""


class SkillFormatError(UserError):
    """A skill file, or the examples beside it, cannot be read as such."""


class RegistryMissing(UserError):
    """There is no folder of skills at that path."""


class RegistryEmpty(UserError):
    """The folder holds no usable skill."""


class RegistryRefused(UserError):
    """The policy is "abort", and the gate refuses a document of the registry."""


class SourceInvalid(UserError):
    """A set of sources, or one of them, cannot be read as it is given."""


class SourceUnavailable(UserError):
    """A repository or a server does not hand over its skills."""


class VaultMissing(UserError):
    """There is no folder of notes at that path, or none that may be written."""


class IndexMissing(UserError):
    """The registry has not been ingested."""


class IndexCorrupt(UserError):
    """The index on disk does not match its manifest."""


class SuiteInvalid(UserError):
    """An evaluation suite that cannot be read, or names unknown skills."""


class RunMissing(UserError):
    """No run record has that id."""


class RunsUnwritable(UserError):
    """The runs directory cannot be written."""


class ServerMissing(UserError):
    """An orchestrated run was asked for, and no Prefect server answers."""


class SharedUnavailable(UserError):
    """Shared storage cannot be read or written, or lacks what was asked for."""


class SharedCorrupt(UserError):
    """What lies in shared storage is not what was published, or was sealed with another key."""


class WorkerMissing(UserError):
    """Task runs were to go to a cluster, and there is none, or it has no workers."""


class WorkerMismatch(UserError):
    """A worker did its part with another version, other engines or other settings than its caller's."""


class CalibrationMismatch(UserError):
    """The calibration was fitted for other models or another scoring version."""


class AgentUnknown(UserError):
    """The table of agents has none of that name."""


class AgentConfigInvalid(UserError):
    """An agent's configuration file is not valid, cannot be written, or cannot be edited safely."""


class EngineUnavailable(PickyError):
    """The background engine cannot be started, or stopped in the middle of a call."""


class ModelUnavailable(PickyError):
    """A model's files are missing or not the expected bytes, or its host gave no usable answer."""

    def __init__(self, message: str, *, fault: str = "unavailable", usage: object = None) -> None:
        super().__init__(message)
        self.usage = usage
        """Tokens that the call took before it failed, where its host counted them."""
        self.fault = fault
        """One word for what failed, such as "timeout"; findings and records name it."""


class GateUnavailable(PickyError):
    """The scanner cannot run; the gate fails closed."""
