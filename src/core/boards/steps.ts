/** A computation that pauses at each `yield`: a daemon serves others meanwhile. */
export type Steps<Result> = Generator<undefined, Result>

/** Runs a computation to its end without a pause. */
export function runSteps<Result>(steps: Steps<Result>): Result {
  let step = steps.next()
  while (!step.done) step = steps.next()
  return step.value
}
