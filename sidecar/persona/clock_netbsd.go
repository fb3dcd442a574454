package persona

// monotonic is CLOCK_MONOTONIC of time.h.
const monotonic = 3
