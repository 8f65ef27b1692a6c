from .errors import CannotRecord, Error
from ._record.record import Record
from ._record.recorder import record
from ._measure.step import Measured, measure
