import type { BoxId, BoxMigration, CommandSecrets, HostId } from '../../core/boxes/index.ts'
import type { Clock, Random } from '../../core/kit/index.ts'
import type { DbOrTx } from '../db/index.ts'
import type { BoxSide, Command } from '../hosts/index.ts'
import type { Keyring } from '../sealed/index.ts'
import { applyReports } from './apply-report.ts'
import { sealOutputs } from './box-secrets.ts'
import { boxResultHandlers } from './finish-commands.ts'
import type { LifeRules } from './life/deps.ts'
import { lifeFailureHandlers, lifeResultHandlers } from './life/finish-life.ts'
import { disownedBy, mayAct } from './life/ownership.ts'

export type BoxSideDeps = LifeRules &
  Readonly<{
    clock: Clock
    random: Random
    keyring: Keyring
    migrations: readonly BoxMigration[]
    secretsFor(db: DbOrTx, command: Command): Promise<CommandSecrets>
  }>

/** What the channel to the agents asks about boxes, answered. */
export const boxSide = (deps: BoxSideDeps): BoxSide => ({
  mayAct: (db, boxId, hostId) => mayAct(db, boxId as BoxId, hostId as HostId),
  disowned: (db, hostId) => disownedBy(db, hostId as HostId),
  resultHandlers: { ...boxResultHandlers(deps), ...lifeResultHandlers(deps) },
  failureHandlers: lifeFailureHandlers(deps),
  reportHandler: (tx, hostId, reports) => applyReports(deps, tx, hostId as HostId, reports),
  secretsFor: deps.secretsFor,
  migrations: deps.migrations,
  acceptOutputs: (tx, { boxId }, outputs) => sealOutputs(deps, tx, boxId as BoxId, outputs),
})
