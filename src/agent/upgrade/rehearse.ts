import type { UpgradeRehearsal } from '../../core/boxes/index.ts'
import { expectedDowntimeMs } from '../../core/boxes/index.ts'
import { isProblem, problem } from '../../core/kit/index.ts'
import { boxOfCommand, boxOfStartedCommand } from '../boxes/index.ts'
import type { CommandContext, CommandExecutor } from '../ports/index.ts'
import { runOnce } from '../saga/index.ts'
import { type Found, rehearseSteps } from './steps.ts'
import { clear, type UpgradeDeps, type UpgradeRun, upgradeRun } from './upgrade-run.ts'

const kind = 'tenant-box.rehearse_upgrade'
type Payload = UpgradeRun['payload']

/**
 * Upgrades a copy of the database beside the box, and throws it away. Whatever is found is a result; an interrupted rehearsal begins again. Throws
 * only refusals before anything was done (NOT_FOUND, LEASE_LOST, CONFLICT, BOX_HELD while another one of the box runs).
 */
export const rehearseUpgrade =
  (deps: UpgradeDeps): CommandExecutor<typeof kind> =>
  (context, payload) =>
    runOnce(
      deps.once,
      // A lock of its own: the box is only read, so its other commands need not wait.
      { context, kind, payload, lock: `${payload.slug}.upgrade` },
      {
        admit: async () => void (await boxOfCommand(deps.boxes, payload)),
        perform: async () => perform(deps, context, payload),
      },
    )

async function perform(deps: UpgradeDeps, context: CommandContext, payload: Payload): Promise<UpgradeRehearsal> {
  const begunMs = deps.clock.monotonicMs()
  const box = await boxOfStartedCommand(deps.boxes, payload)
  const limit = deadline(deps, context, payload)
  const run = upgradeRun(deps, { context, payload, signal: limit.signal, box })
  const found: Found = { findings: [], times: {} }
  let error: UpgradeRehearsal['error'] = null
  await clear(run)
  try {
    await rehearseSteps(run, found)
  } catch (caught) {
    context.signal.throwIfAborted()
    if (!isProblem(caught)) throw caught
    error = { code: caught.code, message: caught.message }
  } finally {
    limit.end()
    if (!context.signal.aborted) await clear(run)
  }
  return resultOf(run, { found, error, durationMs: deps.clock.monotonicMs() - begunMs })
}

type Ended = Readonly<{ found: Found; error: UpgradeRehearsal['error']; durationMs: number }>

function resultOf({ payload }: UpgradeRun, { found, error, durationMs }: Ended): UpgradeRehearsal {
  const { findings, times, content, ...facts } = found
  const downtimeMs = expectedDowntimeMs(times) ?? null
  const isRefused = findings.some(({ severity }) => severity === 'refuse')
  return {
    ok: error === null && !isRefused && content !== undefined && downtimeMs !== null,
    way: 'dump-load',
    image: payload.image,
    digest: facts.digest ?? null,
    from: facts.from ?? null,
    to: facts.to ?? null,
    databaseBytes: facts.databaseBytes ?? null,
    dumpBytes: facts.dumpBytes ?? null,
    loadedBytes: content?.bytes ?? null,
    tables: content?.tables ?? null,
    rows: content?.rows ?? null,
    times,
    downtimeMs,
    findings: findings.slice(0, 100),
    durationMs,
    error,
  }
}

function deadline({ clock }: UpgradeDeps, { signal }: CommandContext, { deadlineMs }: Payload): { signal: AbortSignal; end(): void } {
  const [over, late] = [new AbortController(), new AbortController()]
  void clock.sleep(deadlineMs, over.signal).then(() => {
    if (!over.signal.aborted) late.abort(problem('COMMAND_EXPIRED', 'the rehearsal took longer than its deadline'))
  })
  return { signal: AbortSignal.any([signal, late.signal]), end: () => over.abort('ended') }
}
