import { isoNow, isProblem, newId, problem } from '../../core/kit/index.ts'
import { type InstallStep, installDeadlineMs, installSaga, isPaymentFailure } from '../../core/payments/index.ts'
import { foldSaga, nextStep, type SagaEntry, type SagaError } from '../../core/saga/index.ts'
import { acquireLease, type Lease, releaseLease, renewLease, type Tx } from '../db/index.ts'
import type { SubscriptionRecord } from '../marketplace/index.ts'
import { Refused } from './agreement.ts'
import { type Attempt, findAttempt, writeJournal } from './attempts.repo.ts'
import type { Installer, PaymentsDeps } from './deps.ts'
import { actsOf } from './install-acts.ts'
import { isRejected, sagaErrorOf } from './problems.ts'
import { closeStuck, reportRejected, reportStuck } from './stuck-attempt.ts'

/** Longer than the calls of one step may take. */
const leaseMs = 5 * 60_000

/** `busy`: another process runs it. `waiting`: a step failed and is retried later. */
export type Ran =
  | Readonly<{ state: 'committed'; subscription: SubscriptionRecord | null }>
  | Readonly<{ state: 'refused'; error: SagaError; isFinished: boolean }>
  | Readonly<{ state: 'waiting'; error: SagaError | null }>
  | Readonly<{ state: 'busy' }>

/**
 * Continues an attempt until it ends or a step has to be retried. Every entry of the journal is written before the next step; after a kill
 * at any point the same attempt continues here.
 */
export async function runAttempt(deps: PaymentsDeps, id: string, actor: Installer): Promise<Ran> {
  const lease = await acquireLease(deps, { name: `payments-install:${id}`, owner: newId(deps.random, 'run'), ttlMs: leaseMs })
  if (!lease) return { state: 'busy' }
  try {
    const attempt = await findAttempt(deps.db, id)
    if (!attempt || attempt.finishedAt !== null) return endOf(attempt)
    return await runSteps(deps, { attempt, actor, lease })
  } catch (error) {
    if (isProblem(error, 'LEASE_LOST')) return { state: 'busy' }
    throw error
  } finally {
    await releaseLease(deps, lease)
  }
}

function endOf(attempt: Attempt | undefined): Ran {
  const error = attempt && foldSaga(installSaga, attempt.journal).failure
  if (attempt?.outcome === 'rolled_back' && error) return { state: 'refused', error, isFinished: true }
  return { state: 'committed', subscription: null }
}

type Running = Readonly<{ attempt: Attempt; actor: Installer; lease: Lease }>

/**
 * First statement of each transaction that writes the attempt: a process that was held up for longer than its lease must not install what another
 * one has cancelled and refunded meanwhile. Throws LEASE_LOST.
 */
async function keepLease({ clock }: PaymentsDeps, tx: Tx, { attempt, lease }: Running): Promise<void> {
  if (await renewLease({ db: tx, clock }, lease, leaseMs)) return
  throw problem('LEASE_LOST', `Another process continues the installation ${attempt.id}. fix: repeat the request in a few minutes`)
}

async function runSteps(deps: PaymentsDeps, running: Running): Promise<Ran> {
  const { attempt } = running
  const journal: SagaEntry[] = [...attempt.journal]
  const elapsedMs = () => Math.max(0, deps.clock.now().getTime() - Date.parse(attempt.createdAt))
  const write = async (entry: Omit<SagaEntry, 'elapsedMs'>) => {
    journal.push({ ...entry, elapsedMs: elapsedMs() })
    await deps.db.transaction().execute(async (tx) => {
      await keepLease(deps, tx, running)
      await writeJournal(tx, { id: attempt.id, journal, at: isoNow(deps.clock) })
    })
  }
  for (;;) {
    const facts = foldSaga(installSaga, journal)
    const next = nextStep(installSaga, journal, { world: null, time: { elapsedMs: elapsedMs(), deadlineMs: installDeadlineMs } })
    if ('done' in next) {
      await deps.db.transaction().execute(async (tx) => {
        await keepLease(deps, tx, running)
        await writeJournal(tx, { id: attempt.id, journal, at: isoNow(deps.clock), outcome: 'rolled_back' })
        await closeStuck(tx, deps, running)
      })
      return { state: 'refused', error: facts.failure as SagaError, isFinished: true }
    }
    if ('wait' in next) return waiting(journal)
    if ('fail' in next) {
      await write({ step: next.fail, mark: 'failed', data: { error: next.error } })
      continue
    }
    const step = 'do' in next ? next.do : next.compensate
    // One intent for each step: a step may be retried for a day, more often than the saga allows tries.
    if (!facts.begun.has(step)) await write({ step, mark: 'intent' })
    const outcome = await attemptStep(deps, { ...running, journal, step, elapsedMs })
    if (outcome.kind === 'installed') return { state: 'committed', subscription: outcome.subscription }
    if (outcome.kind === 'done') await write({ step, mark: 'done', data: outcome.result })
    if (outcome.kind === 'refused') await write({ step: 'check', mark: 'failed', data: { error: outcome.error } })
    if (outcome.kind === 'failed') {
      const data = { error: outcome.error, saved: outcome.isSaved, ...(step === 'charge' ? { sent: outcome.isSent } : {}) }
      if (!isRepeated(journal, { step, data })) await write({ step, mark: 'failed', data })
      return waiting(journal)
    }
  }
}

/** A step that fails every minute in the same way does not lengthen the journal. An error that the provider saved needs the next key. */
const isRepeated = (journal: readonly SagaEntry[], { step, data }: Pick<SagaEntry, 'step' | 'data'>): boolean => {
  const last = journal.at(-1)
  const { saved } = data as { saved: boolean }
  return !saved && last?.step === step && last.mark === 'failed' && JSON.stringify(last.data) === JSON.stringify(data)
}

/** An attempt that is being cancelled has a reason already. */
function waiting(journal: readonly SagaEntry[]): Ran {
  const { failure } = foldSaga(installSaga, journal)
  if (failure) return { state: 'refused', error: failure, isFinished: false }
  const last = journal.findLast(({ mark }) => mark === 'failed')
  return { state: 'waiting', error: (last?.data as { error?: SagaError } | undefined)?.error ?? null }
}

type Step = Running & Readonly<{ journal: readonly SagaEntry[]; step: InstallStep; elapsedMs: () => number }>
type Outcome =
  | Readonly<{ kind: 'done'; result: unknown }>
  | Readonly<{ kind: 'installed'; subscription: SubscriptionRecord }>
  | Readonly<{ kind: 'refused'; error: SagaError }>
  | Readonly<{ kind: 'failed'; error: SagaError; isSaved: boolean; isSent: boolean }>

async function attemptStep(deps: PaymentsDeps, { lease, attempt, actor, journal, step, elapsedMs }: Step): Promise<Outcome> {
  const finish = async (tx: Tx) => {
    await keepLease(deps, tx, { attempt, actor, lease })
    const entry = { step, mark: 'done' as const, elapsedMs: elapsedMs() }
    return writeJournal(tx, { id: attempt.id, journal: [...journal, entry], at: isoNow(deps.clock), outcome: 'committed' })
  }
  let isSent = false
  const charging = () => {
    isSent = true
  }
  try {
    const result = await actsOf(deps, { attempt, actor, journal, finish, charging })[step]()
    return step === 'install' ? { kind: 'installed', subscription: result as SubscriptionRecord } : { kind: 'done', result }
  } catch (error) {
    const reason = error instanceof Refused ? error.reason : error
    if (isRejected(reason) || (!isPaymentFailure(reason) && !isProblem(reason)))
      deps.log.warn({ err: reason, attemptId: attempt.id, step }, 'a step of a paid installation failed')
    if (step === 'cancel' || step === 'refund') await reportStuck(deps, { attempt, actor, error })
    else if (isRejected(reason)) await reportRejected(deps, { attempt, actor, error: reason })
    // Nothing was charged before this step, and a retry gets the same answer.
    const isFinal = error instanceof Refused || (step === 'price' && isRejected(reason))
    if (isFinal) return { kind: 'refused', error: sagaErrorOf(reason) }
    return { kind: 'failed', error: sagaErrorOf(error), isSaved: isPaymentFailure(error, 'failed'), isSent }
  }
}
