// Runs several works in every possible order of their steps: each work pauses at its steps and continues when scheduled.

/** Pauses a work until it is scheduled. `asleep`: it waits for others, so it is scheduled again only after another one ran. */
export type Stop = (asleep?: boolean) => Promise<void>

export type Works = readonly ((stop: Stop) => Promise<unknown>)[]

type Runner = { asleep: boolean; outcome: string | undefined; step(): Promise<void> }

/** Runs until the next pause or the end: `done` or the problem code. */
function runnerOf(work: Works[number]): Runner {
  let stopped: () => void = () => undefined
  let goOn = () => {
    work(stop).then(
      () => end('done'),
      (error: { code?: string }) => end(error.code ?? String(error)),
    )
  }
  const stop: Stop = (asleep = false) =>
    new Promise((resume) => {
      goOn = resume
      runner.asleep = asleep
      stopped()
    })
  const end = (outcome: string) => {
    runner.outcome = outcome
    stopped()
  }
  const step = () =>
    new Promise<void>((arrived) => {
      stopped = arrived
      goOn()
    })
  const runner: Runner = { asleep: false, outcome: undefined, step }
  return runner
}

type Choice = { taken: number; of: number }

/** Runs them once by the given choices, then always the first runnable one; records the choices. */
async function runOnce(works: Works, chosen: readonly number[]): Promise<{ outcomes: string[]; choices: Choice[] }> {
  const runners = works.map(runnerOf)
  const choices: Choice[] = []
  for (;;) {
    const open = runners.filter(({ outcome }) => outcome === undefined)
    const awake = open.filter(({ asleep }) => !asleep)
    const may = awake.length > 0 ? awake : open
    if (may.length === 0) return { outcomes: runners.map(({ outcome }) => outcome as string), choices }
    const taken = chosen[choices.length] ?? 0
    choices.push({ taken, of: may.length })
    const next = may[taken] as Runner
    await next.step()
    for (const other of open) if (other !== next) other.asleep = false
  }
}

/** Runs every order once: `make` prepares a run, `look` checks its outcome. Returns the number of orders. */
export async function everyOrder(make: () => Promise<Works>, look: (outcomes: string[]) => Promise<void>): Promise<number> {
  let count = 0
  for (let chosen: number[] | undefined = []; chosen; count += 1) {
    const { outcomes, choices } = await runOnce(await make(), chosen)
    await look(outcomes)
    const last = choices.findLastIndex(({ taken, of }) => taken + 1 < of)
    chosen = last === -1 ? undefined : choices.slice(0, last + 1).map(({ taken }, n) => (n === last ? taken + 1 : taken))
  }
  return count
}
