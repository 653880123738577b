import { type BoxWatch, manyRestarts, type ProbeResult, Service } from '../../core/boxes/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { BoxServers, ContainerEngine, LocalBox } from '../ports/index.ts'
import type { LocalBoxes } from './local-boxes.ts'

export type WatchDeps = Readonly<{
  engine: Pick<ContainerEngine, 'containers'>
  servers: Pick<BoxServers, 'check'>
  boxes: Pick<LocalBoxes, 'list'>
  isFenced(box: LocalBox): Promise<boolean>
  clock: Clock
}>

export type BoxWatcher = Readonly<{
  /** The result of the last check of a box; undefined before the first one, and while the box is closed. */
  found(slug: string): BoxWatch | undefined
  /** `checkedAt`: every open box was checked then or later. Before that `uncheckedSince`: the first box that still is not was found then. */
  times(): Readonly<{ checkedAt?: string; uncheckedSince?: string }>
  /** A container of this project started or ended: a server that starts again and again runs most of the time, and its chat does not. */
  containerChanged(project: string): void
  /**
   * Checks every open box once a minute until the signal aborts. Calls back each time a part of a box fails, or works again, and once when all
   * boxes were checked first: what an earlier agent reported may be over.
   */
  run(onChange: (project?: string) => void, signal: AbortSignal): Promise<void>
}>

const everyMs = 60_000
const writesEveryMs = 15 * 60_000
/** A failure is reported if it is still there after this. */
const doubtMs = 5_000
/** So that the end of a failure is seen soon. */
const failingEveryMs = 15_000
const listEveryMs = 15_000
const tickMs = 1_000
/** Between the first checks of two boxes. */
const spreadMs = 2_000
/** Max checks at once, so that hanging boxes delay each other and not the host. */
const parallel = 4
const restartWindowMs = 15 * 60_000

type Watched = {
  box: LocalBox
  listedAt: string
  dueMs: number
  /** When the next check writes. */
  writeMs: number
  isChecking: boolean
  /** Its first check ended. */
  isKnown: boolean
  /** The last check failed, and one more decides. */
  inDoubt: boolean
  found: BoxWatch | undefined
  isClosed: boolean
  /** A container changed since its check began. */
  hasChanged: boolean
  restarts: RestartHistory
}

/** The agent's own look at its boxes: a dead chat server is known within a minute, although no container stopped. */
export function boxWatcher(deps: WatchDeps): BoxWatcher {
  const watched = new Map<string, Watched>()
  return {
    found: (slug) => watched.get(slug)?.found,
    times: () => {
      const open = [...watched.values()].filter(({ isClosed }) => !isClosed)
      const [uncheckedSince] = open.flatMap(({ found, listedAt }) => (found ? [] : listedAt)).toSorted()
      if (uncheckedSince !== undefined) return { uncheckedSince }
      const [checkedAt] = open.flatMap(({ found }) => found?.check.at ?? []).toSorted()
      return checkedAt === undefined ? {} : { checkedAt }
    },
    containerChanged: (project) => {
      for (const one of watched.values()) {
        if (one.box.project.name !== project) continue
        one.hasChanged = true
        one.dueMs = Math.min(one.dueMs, deps.clock.monotonicMs() + doubtMs)
      }
    },
    run: async (onChange, signal) => {
      const { clock } = deps
      let areAllKnown = false
      for (let listedMs = Number.NEGATIVE_INFINITY; !signal.aborted; await clock.sleep(tickMs, signal)) {
        const nowMs = clock.monotonicMs()
        if (nowMs - listedMs >= listEveryMs) {
          listedMs = nowMs
          // A folder that cannot be read now is read again.
          await refresh(deps, watched).catch(() => undefined)
        }
        const all = [...watched.values()]
        if (!areAllKnown && all.length > 0 && all.every(({ isKnown }) => isKnown)) {
          areAllKnown = true
          onChange()
        }
        const free = parallel - all.filter(({ isChecking }) => isChecking).length
        const due = all.filter(({ isChecking, dueMs }) => !isChecking && dueMs <= nowMs).toSorted((a, b) => a.dueMs - b.dueMs)
        for (const one of due.slice(0, Math.max(0, free))) void look(deps, one, { onChange, signal })
      }
    },
  }
}

async function refresh({ boxes, clock }: WatchDeps, watched: Map<string, Watched>): Promise<void> {
  const present = await boxes.list()
  const nowMs = clock.monotonicMs()
  for (const slug of watched.keys()) if (!present.some((box) => box.slug === slug)) watched.delete(slug)
  let added = 0
  for (const box of present) {
    const known = watched.get(box.slug)
    if (known) known.box = box
    else {
      const dueMs = nowMs + added++ * spreadMs
      const fresh = {
        isChecking: false,
        isKnown: false,
        inDoubt: false,
        isClosed: false,
        hasChanged: false,
        found: undefined,
        restarts: new RestartHistory(),
      }
      watched.set(box.slug, { box, listedAt: isoNow(clock), dueMs, writeMs: dueMs + writesEveryMs, ...fresh })
    }
  }
}

type Look = Readonly<{ onChange: (project: string) => void; signal: AbortSignal }>

async function look(deps: WatchDeps, one: Watched, { onChange, signal }: Look): Promise<void> {
  const { clock } = deps
  one.isChecking = true
  one.hasChanged = false
  try {
    const before = outcomeOf(one.found)
    const check = await checkOpenBox(deps, one, signal)
    if (signal.aborted) return
    const isFailing = check?.verdict !== undefined && check.verdict !== 'ok'
    const wasFailing = one.found !== undefined && one.found.check.verdict !== 'ok'
    one.dueMs = clock.monotonicMs() + (isFailing ? failingEveryMs : everyMs)
    if (isFailing && !wasFailing && !one.inDoubt) {
      one.inDoubt = true
      one.dueMs = clock.monotonicMs() + doubtMs
      return
    }
    one.inDoubt = false
    one.isKnown = true
    one.isClosed = !check
    one.found = check && { check, restarts: one.restarts.recent(clock.monotonicMs()) }
    if (one.found && outcomeOf(one.found) !== before) onChange(one.box.project.name)
  } catch {
    // The engine or a file of the box cannot be read now: the report says so too.
    one.isKnown = true
    one.dueMs = clock.monotonicMs() + failingEveryMs
  } finally {
    one.isChecking = false
    if (one.hasChanged) one.dueMs = Math.min(one.dueMs, clock.monotonicMs() + doubtMs)
  }
}

/** Undefined for a box that a change or an operator closed. */
async function checkOpenBox(
  { engine, servers, clock, isFenced }: WatchDeps,
  one: Watched,
  signal: AbortSignal,
): Promise<ProbeResult | undefined> {
  const { box } = one
  const isClosed = async () => box.handedOver !== undefined || (await isFenced(box))
  if (await isClosed()) return undefined
  one.restarts.note(clock.monotonicMs(), await engine.containers(box.project))
  const writes = clock.monotonicMs() >= one.writeMs
  const check = await servers.check(box, writes, signal)
  if (writes) one.writeMs = clock.monotonicMs() + writesEveryMs
  return (await isClosed()) ? undefined : check
}

/** The parts of a result whose change is reported. */
function outcomeOf(found: BoxWatch | undefined): string {
  if (!found) return 'ok'
  const failed = Object.entries(found.check.components).flatMap(([part, { ok }]) => (ok ? [] : [part]))
  const restarting = Service.options.filter((service) => (found.restarts[service] ?? 0) >= manyRestarts)
  return [...failed, ...restarting].join() || 'ok'
}

type Counted = Readonly<{ id: string; service: string; restartCount: number }>

/** Counts the restarts of containers by the engine. A recreated container begins again. */
class RestartHistory {
  #seen: { atMs: number; containers: readonly Counted[] }[] = []

  note(atMs: number, containers: readonly Counted[]): void {
    this.#seen = [...this.#seen.filter((one) => atMs - one.atMs <= restartWindowMs), { atMs, containers }]
  }

  recent(nowMs: number): BoxWatch['restarts'] {
    const within = this.#seen.filter(({ atMs }) => nowMs - atMs <= restartWindowMs)
    const newest = within.at(-1)?.containers ?? []
    return Object.fromEntries(
      Service.options.flatMap((service) => {
        const now = newest.find((container) => container.service === service)
        const first = within.flatMap(({ containers }) => containers).find(({ id }) => id === now?.id)
        return now && first && now.restartCount > first.restartCount ? [[service, now.restartCount - first.restartCount]] : []
      }),
    )
  }
}
