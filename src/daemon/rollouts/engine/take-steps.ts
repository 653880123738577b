import type { UpdateResult } from '../../../core/boxes/index.ts'
import { isProblem } from '../../../core/kit/index.ts'
import type { Step } from '../../../core/rollouts/index.ts'
import { beginAction } from './begin-action.ts'
import { type Begun, beginFreed, type Waits } from './begin-freed.ts'
import { advancePhase, pausePhase } from './drive-phase.ts'
import { examineAction } from './examine-action.ts'
import { failAction, judgeAction } from './judge-action.ts'
import { type Owned, type Sent, together, type Within } from './owned.ts'
import { pinDigests } from './pin-digests.ts'
import { beginUndo } from './undo/begin-undo.ts'
import { examineUndo } from './undo/examine-undo.ts'
import { failUndo, judgeUndo } from './undo/judge-undo.ts'
import { orderUndo } from './undo/order-undo.ts'
import { showUndoWait } from './undo/show-undo-wait.ts'
import { recordOverdue, showProgress, showWait } from './watch-action.ts'

/** `goesOn`: something was done after which there may be more to do at once. `sent`: commands that were queued. */
type Taken = Readonly<{ goesOn: boolean; sent: readonly { id: string; revision: number }[] }>

type Around = Waits & Readonly<{ isFull: boolean }>

/** What a look has found. `isFull`: there is no place for more in flight. */
export type Seen = Around & Readonly<{ steps: readonly Step[] }>

/**
 * Takes what belongs to every update in one transaction, as far as it is due in the same moment, and the rest one by one. Where one of them cannot
 * be taken, nothing of that transaction stands, and each is taken alone: one box's trouble keeps no other from its turn. Throws LEASE_LOST.
 */
export async function takeSteps(owned: Owned, { steps, isFull, ...waits }: Seen, signal: AbortSignal): Promise<Taken> {
  const calm = steps.filter(isCalm).toSorted((a, b) => Number(a.do === 'judge') - Number(b.do === 'judge'))
  const isMore = calm.length > 1 || calm.some(endsWell)
  const done = isMore && !signal.aborted ? await takeTogether(owned, calm, { isFull, ...waits }) : undefined
  const taken = [...(done ?? [])]
  for (const step of done ? steps.filter((one) => !isCalm(one)) : steps) {
    if (signal.aborted) break
    const sent = await takeAlone(owned, step)
    if (sent !== 'failed') taken.push({ goesOn: leadsOn(step, sent, isFull), sent })
  }
  return {
    goesOn: taken.some(({ goesOn }) => goesOn),
    sent: taken.flatMap(({ sent }) => (sent?.commandId ? [{ id: sent.commandId, revision: firstRevision }] : [])),
  }
}

type TakenStep = Readonly<{ goesOn: boolean; sent: Sent }>

const firstRevision = 1

const calmSteps: ReadonlySet<Step['do']> = new Set(['begin', 'examine', 'pin', 'show', 'judge'])

/** What pauses, fails or advances locks more than its own box, and stands alone. Judging may raise an alert: it comes last. */
const isCalm = (step: Step): boolean => calmSteps.has(step.do)

/**
 * What only tells how things stand leads to nothing new, nor does a command before its answer: all that could begin beside it has, or was not looked
 * at because of what came in, and then there must be a free place for it.
 */
function leadsOn(step: Step, sent: Sent, isFull: boolean): boolean {
  if (step.do === 'show' || step.do === 'wait') return false
  return !sent || !(isFull || step.do === 'begin' || step.do === 'begin-undo')
}

/** As far as its agent says. After all others the next may begin at once: nothing speaks against it, and no alert is raised before. */
const endsWell = (step: Step): boolean => step.do === 'judge' && (step.result as UpdateResult).outcome === 'committed'

const looksAtBox: ReadonlySet<Step['do']> = new Set(['begin', 'examine', 'pin'])

const slugsOf = (steps: readonly Step[]): string[] => steps.flatMap((step) => ('slug' in step ? [step.slug] : []))

/** Undefined when one of them could not be taken. */
async function takeTogether(owned: Owned, steps: readonly Step[], { isFull, ...waits }: Around): Promise<TakenStep[] | undefined> {
  let begun: Begun | undefined
  const isFreed = steps.some(endsWell) && steps.every((step) => step.do !== 'judge' || endsWell(step))
  const begin = async (within: Within) => {
    begun = await beginFreed(within, waits)
    return begun.sent
  }
  try {
    const sent = await together(
      owned,
      steps.map((step) => (within) => execute(within, step)),
      { actions: slugsOf(steps), boxes: slugsOf(steps.filter(({ do: what }) => looksAtBox.has(what))) },
      isFreed ? begin : undefined,
    )
    return sent.map((one, at) => ({ goesOn: goesOn(steps[at], one, begun, isFull), sent: one }))
  } catch (error) {
    if (isProblem(error, 'LEASE_LOST')) throw error
    owned.deps.log.debug({ rolloutId: owned.rolloutId, err: error }, 'steps of a rollout are taken one by one: together they failed')
    return undefined
  }
}

/** What was judged leads on to those that wait for its place, unless these have begun with it. */
const goesOn = (step: Step | undefined, sent: Sent, begun: Begun | undefined, isFull: boolean): boolean =>
  step !== undefined && (step.do === 'judge' && begun ? !begun.isDone : leadsOn(step, sent, isFull))

async function takeAlone(owned: Owned, step: Step): Promise<Sent | 'failed'> {
  try {
    return await execute(owned, step)
  } catch (error) {
    if (isProblem(error, 'LEASE_LOST')) throw error
    owned.deps.log.error({ rolloutId: owned.rolloutId, step: step.do, err: error }, 'a step of a rollout failed and will be tried again')
    return 'failed'
  }
}

function execute(owned: Owned, step: Step): Promise<Sent> {
  switch (step.do) {
    case 'begin':
      return beginAction(owned, step.slug)
    case 'wait':
      return showWait(owned, step.slug, step)
    case 'examine':
      return examineAction(owned, step.slug, step.commandId, step.result as never)
    case 'pin':
      return pinDigests(owned, step.slug, step.commandId, step.result as never)
    case 'judge':
      return judgeAction(owned, step.slug, step.commandId, step.result as never)
    case 'show':
      return showProgress(owned, step.slug, step.commandId, step.status, step.progress)
    case 'begin-undo':
      return beginUndo(owned, step.slug)
    case 'wait-undo':
      return showUndoWait(owned, step.slug, step.why)
    case 'examine-undo':
      return examineUndo(owned, step.slug, step.commandId, step.result as never)
    case 'order-undo':
      return orderUndo(owned, step.slug, step.commandId, step.result as never)
    case 'judge-undo':
      return judgeUndo(owned, step.slug, step.commandId, step.result as never)
    case 'fail-undo':
      return failUndo(owned, step.slug, step.commandId, step.error)
    case 'fail':
      return failAction(owned, step.slug, step.commandId, step.error)
    case 'overdue':
      return recordOverdue(owned, step.slug, step.commandId)
    case 'pause':
      return pausePhase(owned, step.reason)
    case 'advance':
      return advancePhase(owned, step.from)
  }
}
