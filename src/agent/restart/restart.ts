import { type ProbeRule, Service } from '../../core/boxes/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import {
  assertUnfenced,
  boxOfCommand,
  boxOfStartedCommand,
  type LocalBoxes,
  type ReportDeps,
  reportVersions,
  waitForService,
  waitUntilStable,
} from '../boxes/index.ts'
import type { OnceOnly } from '../journal/index.ts'
import type { CommandContext, CommandExecutor, LocalBox } from '../ports/index.ts'
import { runOnce } from '../saga/index.ts'

const kind = 'tenant-box.restart'

type Deps = ReportDeps & Readonly<{ clock: Clock; boxes: LocalBoxes; once: OnceOnly }>

/** A server that starts is good within seconds; a large database recovers within the timeout. */
const rule: ProbeRule = { consecutive: 3, spacingMs: 2_000, timeoutMs: 10 * 60_000 }

/** Throws BOX_HELD for a fenced box, and BOX_UNHEALTHY or PROBE_FAILED for one that does not get healthy; its containers were started then. */
export const restart =
  (deps: Deps): CommandExecutor<typeof kind> =>
  (context, payload) =>
    runOnce(
      deps.once,
      { context, kind, payload },
      {
        admit: async () => assertUnfenced(await boxOfCommand(deps.boxes, payload)),
        perform: async () => {
          const begun = deps.clock.monotonicMs()
          const box = await boxOfStartedCommand(deps.boxes, payload)
          await restartServices(deps, context, box)
          context.progress({ step: 'probe' })
          const probe = await waitUntilStable(deps, box, {
            rule,
            signal: context.signal,
            onProbe: ({ reason }, good) => context.progress({ step: 'probe', detail: reason ?? `${good} of ${rule.consecutive} good` }),
          })
          return { probe, report: await reportVersions(deps, box), durationMs: deps.clock.monotonicMs() - begun }
        },
      },
    )

/** Synapse stops first, which ends its requests, and starts last; the edge answers meanwhile. A failure leaves no service stopped. */
async function restartServices(deps: Deps, { signal, progress }: CommandContext, box: LocalBox): Promise<void> {
  const { engine, servers } = deps
  try {
    progress({ step: 'stop' })
    await engine.stop(box.project, ['synapse'])
    await engine.stop(box.project, ['minio', 'postgres'])
    progress({ step: 'start' })
    await engine.start(box.project, ['postgres', 'minio'])
    await waitForService({ ...deps, signal }, box, { service: 'postgres', isUp: () => servers.databaseReady(box) })
    await engine.start(box.project, ['synapse'])
    await engine.stop(box.project, ['edge'])
  } finally {
    await engine.start(box.project, Service.options)
  }
}
