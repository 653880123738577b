import type { BoxId, ProbeResult, VersionsReport } from '../../core/boxes/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import { appendEvent, type Tx } from '../db/index.ts'
import type { Command, ResultHandlers } from '../hosts/index.ts'
import { applyReport } from './apply-report.ts'
import type { BoxRecord } from './box-record.ts'
import { boxById, makeLive } from './boxes.repo.ts'

type Deps = Readonly<{ clock: Clock }>

/** Takes in what a good result says about its box. `prefetch` says nothing: pulled images change nothing that runs. */
export const boxResultHandlers = (deps: Deps): ResultHandlers => ({
  'tenant-box.report_versions': (tx, command, { report }) => takeReport(deps, tx, command, report),
  'tenant-box.healthcheck': (tx, command, { report, probe }) => takeReport(deps, tx, command, report, probe),
  'tenant-box.provision': (tx, command, { report, probe }) => finishSetUp(deps, tx, command, { report, probe, findings: [] }),
  'tenant-box.adopt': (tx, command, { report, findings }) => finishSetUp(deps, tx, command, { report, findings }),
  'tenant-box.restore': async (tx, command, { report, probes }) => {
    if (report) await takeReport(deps, tx, command, report, probes.at(-1))
  },
  'tenant-box.update': async (tx, command, { report, probes }) => {
    if (report) await takeReport(deps, tx, command, report, probes.at(-1))
  },
})

const boxOf = (tx: Tx, { boxId }: Command): Promise<BoxRecord | undefined> => boxById(tx, boxId as BoxId)

async function takeReport(deps: Deps, tx: Tx, command: Command, report: VersionsReport, probe?: ProbeResult): Promise<void> {
  const box = await boxOf(tx, command)
  if (box) await applyReport(deps, tx, box, report, probe)
}

type SetUpResult = Readonly<{ report: VersionsReport; probe?: ProbeResult; findings: readonly string[] }>

/** A box is live from its first good set-up on. What an attempt says that a later one replaced, or of a box that was removed, decides nothing. */
async function finishSetUp({ clock }: Deps, tx: Tx, command: Command, { report, probe, findings }: SetUpResult): Promise<void> {
  const box = await boxOf(tx, command)
  if (!box || box.live || box.removal || box.setUp.commandId !== command.id) return
  if (!(await makeLive(tx, box, findings))) return
  await applyReport({ clock }, tx, box, report, probe)
  const payload = { boxId: box.id, slug: box.slug, tenantId: box.tenantId }
  await appendEvent(tx, clock, { stream: 'admin', source: 'boxes', eventType: 'box.ready', payload })
}
