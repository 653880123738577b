import { canRollBackByImages, type ImageRollback, imageRollback } from '../../core/boxes/index.ts'
import { proveTarget } from './prove-target.ts'
import { beforeOf, isUpgrade, type QuickProof, type UpdateRun } from './update-run.ts'

const pauseMs = 1_000

/** Proves the box before it is opened. Throws PROBE_FAILED. */
export async function proveQuickly(run: UpdateRun): Promise<QuickProof> {
  const found: { rollback?: ImageRollback } = {}
  const besideLast = async () => {
    found.rollback = await evaluateNow(run)
  }
  await proveTarget(run, 'quick-probe', { besideLast })
  return found
}

/**
 * Before the box is opened: whether the former images could serve what users are about to write. While background updates of the new version
 * are pending the fence stays and the slow probes run; whichever ends first decides. Throws PROBE_FAILED.
 */
export async function checkRollback(run: UpdateRun): Promise<ImageRollback> {
  const known = run.evidence()['quick-probe']?.rollback
  const found = known?.possible ? known : await evaluateNow(run)
  if (found.possible || !mayChange(run, found)) return found
  run.context.progress({ step: 'check-rollback', detail: `in maintenance meanwhile: ${found.reason}`.slice(0, 300) })
  const over = new AbortController()
  const within = { ...run, signal: AbortSignal.any([run.signal, over.signal]) }
  const stable = proveTarget(within, 'check-rollback').then(() => ({ ...found, isStable: true }))
  const possible = untilPossible(within)
  try {
    return await Promise.race([possible, stable])
  } finally {
    over.abort('ended')
    // A probe that is recorded late must not be written beside the end of this step.
    await Promise.allSettled([possible, stable])
  }
}

/** Background updates end by themselves. A requested mode opens the box anyway. */
const mayChange = ({ payload: { fence } }: UpdateRun, { reason = '' }: ImageRollback): boolean =>
  fence.formerSchema !== undefined && !fence.isForced && /background update|does not answer/.test(reason)

async function untilPossible(run: UpdateRun): Promise<ImageRollback> {
  for (;;) {
    await run.deps.clock.sleep(pauseMs, run.signal)
    run.signal.throwIfAborted()
    const found = await evaluateNow(run)
    if (found.possible) return found
  }
}

/** After the failure of an open box. A database that does not answer now was checked before the box was opened. */
export async function confirmRollback(run: UpdateRun): Promise<ImageRollback> {
  const facts = await factsOf(run)
  run.signal.throwIfAborted()
  return facts ? evaluate(run, facts) : (canRollBackByImages(run.facts()) ?? evaluate(run, undefined))
}

const factsOf = ({ deps, box }: UpdateRun) => deps.servers.databaseFacts(box).catch(() => undefined)

export const evaluateNow = async (run: UpdateRun): Promise<ImageRollback> => evaluate(run, await factsOf(run))

function evaluate(run: UpdateRun, now: Awaited<ReturnType<typeof factsOf>>): ImageRollback {
  const { planned, background = null } = beforeOf(run)
  if (isUpgrade(run)) return { possible: false, reason: 'the former PostgreSQL cannot read the files of another major version' }
  const { formerSchema, harmlessUpdates } = run.payload.fence
  return imageRollback({ formerSchema, backgroundBefore: background, harmlessUpdates, now, changed: planned })
}
