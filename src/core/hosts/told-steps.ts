/** When a step of a command was first told. */
export type FirstTold = Readonly<{ step: string; at: string }>

type Told = Readonly<{ step: string; at: string; since?: string | undefined }>

/** Steps of one command beyond this are not the work of an agent of ours. */
const mostSteps = 60

/**
 * The list with what was told now: the first time of each step stands, however often and late it is told again. Only the newest progress of a
 * command is kept; this keeps what it began with.
 */
export function addSteps(known: readonly FirstTold[], told: readonly Told[]): FirstTold[] {
  const names = new Set(known.map(({ step }) => step))
  const added: FirstTold[] = []
  for (const { step, at, since } of told) {
    const first = momentOf(since) ?? momentOf(at)
    if (names.has(step) || first === undefined) continue
    names.add(step)
    added.push({ step, at: first })
  }
  return [...known, ...added].slice(0, mostSteps)
}

/** What agents send is not ours: only a time becomes one. */
function momentOf(text: string | undefined): string | undefined {
  const ms = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString()
}
