import { isInFlight, isOver, phaseOf, type RolloutAction, type RolloutEvent } from '../../src/core/rollouts/index.ts'
import { type Db, eventsAfter } from '../../src/daemon/db/index.ts'

type Told = Readonly<{ seq: number; event: RolloutEvent }>

/** All events of a rollout in the order of their commits. */
export async function historyOf(db: Db, rolloutId: string): Promise<Told[]> {
  const told: Told[] = []
  for (;;) {
    const page = await eventsAfter(db, { stream: `rollout:${rolloutId}`, after: told.length })
    told.push(...page.map(({ seq, payload }) => ({ seq, event: payload as RolloutEvent })))
    if (page.length === 0) return told
  }
}

type Kind = 'staged' | 'emergency_cve'

/** Checks a history from its start and returns all violations; empty if there are none. */
export function violationsIn(
  history: readonly Told[],
  { parallel, perHost, kind = 'staged' }: { parallel: number; perHost: number; kind?: Kind },
): string[] {
  const actions = new Map<string, RolloutAction>()
  const wrong: string[] = []
  let over: string | undefined
  for (const [nth, { seq, event }] of history.entries()) {
    const say = (what: string) => wrong.push(`event ${seq}: ${what}`)
    if (seq !== nth + 1) say(`follows ${nth}`)
    if (over && event.status !== over) say(`a rollout that is ${over} becomes ${event.status}`)
    if (isOver(event.status)) over = event.status
    if (!event.action) continue
    const { tenantSlug, status } = event.action
    for (const what of movesWrong(actions.get(tenantSlug), event.action, event, kind)) say(`${tenantSlug} ${what}`)
    actions.set(tenantSlug, event.action)
    if (!isInFlight(status)) continue
    const flying = [...actions.values()].filter((action) => isInFlight(action.status))
    if (flying.length > parallel) say(`${flying.length} in flight: ${flying.map((action) => action.tenantSlug).join(', ')}`)
    const onHost = flying.filter(({ hostId }) => hostId === event.action?.hostId)
    if (onHost.length > perHost) say(`${onHost.length} in flight on ${event.action.hostId}`)
  }
  return wrong
}

function movesWrong(before: RolloutAction | undefined, now: RolloutAction, { status }: RolloutEvent, kind: Kind): string[] {
  const was = before?.status ?? 'pending'
  const begins = isInFlight(now.status) && !isInFlight(was)
  // Requested with the rollback of its rollout, or later of a finished one.
  const isRequested = status === 'rolled_back' || (isOver(status) && before?.rollback?.status === 'pending')
  const goesBack = now.status === 'rolling_back' && isRequested
  // An emergency that starts includes again what was up to date and that another rollout still changes.
  const isTakenIn = kind === 'emergency_cve' && now.status === 'pending' && now.attempt === 0 && before?.findings.length === 0
  const wrong: string[] = []
  if (begins && !goesBack && !phaseOf({ kind, status })) wrong.push(`begins while its rollout is ${status}`)
  if (begins && now.attempt !== (before?.attempt ?? 0) + 1) wrong.push(`begins attempt ${now.attempt} after ${before?.attempt ?? 0}`)
  if (!begins && before && now.attempt !== before.attempt) wrong.push(`becomes attempt ${now.attempt} without a beginning`)
  if (was === 'succeeded' && now.status !== 'succeeded' && !goesBack) wrong.push(`becomes ${now.status} though it had succeeded`)
  if ((was === 'skipped' || was === 'cancelled') && now.status !== was && !(was === 'skipped' && isTakenIn))
    wrong.push(`becomes ${now.status} though it was ${was}`)
  if (now.status === 'succeeded' && !(now.snapshotOk && now.snapshotId)) wrong.push('was updated without a snapshot')
  if (now.status === 'rolled_back' && now.healthOk && !goesBackIsOver(now))
    wrong.push('was brought back after its update had been committed')
  return wrong
}

/** Rolled back by an operator with the whole rollout. */
const goesBackIsOver = ({ rollback }: RolloutAction): boolean => rollback?.status === 'done'
