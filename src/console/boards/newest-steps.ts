const shown = 200

/** The page of the history that ends with the step `seq`, the last one of a run: its steps are numbered from 1, and its cursor is a number of a step. */
export const newestSteps = (seq: number): Readonly<{ limit: number; cursor?: string }> =>
  seq > shown ? { limit: shown, cursor: String(seq - shown) } : { limit: shown }
