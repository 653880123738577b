import { join } from 'node:path'
import type { Clock, Random } from '../../core/kit/index.ts'
import { recover } from '../archive/index.ts'
import { type DiskSpace, maintainSnapshots, type SpaceLedger, snapshot, spaceLedger } from '../backup/index.ts'
import {
  adopt,
  adoptAgain,
  type BoxSettings,
  composeRecord,
  type FindFacts,
  followLogs,
  healthcheck,
  knownMirrors,
  type LocalBoxes,
  logs,
  maintain,
  provision,
  recordCompose,
  report,
  resolveImages,
  services,
} from '../boxes/index.ts'
import type { ChangeDeps } from '../change/index.ts'
import { drill } from '../drill/index.ts'
import { finishImport, foreignPrograms, importBox, importState, surveyImport, undoImport } from '../import/index.ts'
import { type BoxLocks, type CommandJournal, onceOnly } from '../journal/index.ts'
import { handOver, remove, takeBack, takeOver } from '../move/index.ts'
import type { BoxServers, CommandContext, CommandExecutors, ContainerEngine, SnapshotStore } from '../ports/index.ts'
import { restart } from '../restart/index.ts'
import { restore } from '../restore/index.ts'
import { prefetch, update } from '../update/index.ts'
import { rehearseUpgrade } from '../upgrade/index.ts'
import { registryAccess } from './registry-access.ts'

/** Dependencies of the executors on a real or simulated host. */
type ExecutorDeps = Readonly<{
  clock: Clock
  random: Random
  /** State folder of the agent. */
  stateFolder: string
  engine: ContainerEngine
  servers: BoxServers
  snapshots: SnapshotStore
  boxes: LocalBoxes
  journal: CommandJournal
  locks: BoxLocks
  disk: DiskSpace
  settings: BoxSettings
  portInUse(port: number): Promise<boolean>
  /** Adds facts to reports; without it they contain only versions. */
  findFacts?: FindFacts
}> &
  Pick<ChangeDeps, 'releaseDiskReserve'>

/** All executors of an agent. */
export function boxExecutors(host: ExecutorDeps): CommandExecutors {
  const registries = registryAccess({ mirrors: knownMirrors(host.stateFolder), allowedMirrors: host.settings.allowedMirrors ?? [] })
  const ledger = spaceLedger()
  const deps = { ...host, engine: registries.pulling(host.engine), disk: { ...host.disk, ledger } }
  const changes = {
    ...deps,
    once: onceOnly(deps),
    workFolder: join(deps.stateFolder, 'work'),
    allowedImages: deps.settings.allowedImages,
  }
  const imports = { ...changes, foreign: foreignPrograms(deps) }
  const executors = recordCompose(composeRecord(deps), {
    'tenant-box.report_versions': report(deps),
    'tenant-box.healthcheck': healthcheck(deps),
    'tenant-box.provision': provision(deps),
    'tenant-box.logs': logs(deps),
    'tenant-box.services': services(deps),
    'tenant-box.follow_logs': followLogs(deps),
    'tenant-box.resolve_images': resolveImages({ ...deps, ...deps.settings }),
    'tenant-box.adopt': adopt(deps),
    'tenant-box.adopt_again': adoptAgain(deps),
    'tenant-box.survey_import': surveyImport(deps),
    'tenant-box.import': importBox(imports),
    'tenant-box.import_state': importState(imports),
    'tenant-box.undo_import': undoImport(imports),
    'tenant-box.finish_import': finishImport(imports),
    'tenant-box.maintenance': maintain(deps),
    'tenant-box.restart': restart(changes, 'tenant-box.restart'),
    'tenant-box.restart_services': restart(changes, 'tenant-box.restart_services'),
    'tenant-box.prefetch': prefetch(changes),
    'tenant-box.update': update(changes),
    'tenant-box.snapshot': snapshot(changes),
    'tenant-box.tend_snapshots': maintainSnapshots(changes),
    'tenant-box.restore': restore(changes),
    'tenant-box.drill': drill(changes),
    'tenant-box.recover': recover(changes),
    'tenant-box.rehearse_upgrade': rehearseUpgrade(changes),
    'tenant-box.hand_over': handOver(changes),
    'tenant-box.take_over': takeOver(changes),
    'tenant-box.take_back': takeBack(changes),
    'tenant-box.remove': remove(changes),
  })
  return releaseSpace(ledger, registries.offering(executors))
}

type AnyExecutor = (context: CommandContext, payload: unknown) => Promise<unknown>

/** Wraps executors to release the disk space of a command when it ends. */
export function releaseSpace({ release }: Pick<SpaceLedger, 'release'>, executors: CommandExecutors): CommandExecutors {
  const releasing = Object.entries(executors).map(([kind, execute]) => {
    const work: AnyExecutor = (context, payload) => (execute as AnyExecutor)(context, payload).finally(() => release(context.commandId))
    return [kind, work]
  })
  return Object.fromEntries(releasing) as CommandExecutors
}
