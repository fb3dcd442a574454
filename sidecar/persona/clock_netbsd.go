package persona

// monotonic is CLOCK_MONOTONIC from time.h.
const monotonic = 3
