"""Arrays in, arrays out: fitting, floors and prediction sets."""
