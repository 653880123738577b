import type { BoxId, BoxMigration, CommandSecrets, HostId } from '../../core/boxes/index.ts'
import type { Clock, Random } from '../../core/kit/index.ts'
import type { DbOrTx } from '../db/index.ts'
import type { BoxSide, Command } from '../hosts/index.ts'
import type { Keyring } from '../sealed/index.ts'
import { applyReports } from './apply-report.ts'
import { sealOutputs } from './box-secrets.ts'
import { boxResultHandlers } from './finish-commands.ts'
import { lifeFailureHandlers, lifeResultHandlers } from './life/finish-life.ts'
import type { LifeRules } from './life/needs.ts'
import { disownedBy, mayAct } from './life/ownership.ts'

export type BoxSideNeeds = LifeRules &
  Readonly<{
    clock: Clock
    random: Random
    keyring: Keyring
    migrations: readonly BoxMigration[]
    secretsFor(db: DbOrTx, command: Command): Promise<CommandSecrets>
  }>

/** What the channel to the agents asks about boxes, answered. */
export const boxSide = (needs: BoxSideNeeds): BoxSide => ({
  mayAct: (db, boxId, hostId) => mayAct(db, boxId as BoxId, hostId as HostId),
  disowned: (db, hostId) => disownedBy(db, hostId as HostId),
  resultHandlers: { ...boxResultHandlers(needs), ...lifeResultHandlers(needs) },
  failureHandlers: lifeFailureHandlers(needs),
  reportHandler: (tx, hostId, reports) => applyReports(needs, tx, hostId as HostId, reports),
  secretsFor: needs.secretsFor,
  migrations: needs.migrations,
  acceptOutputs: (tx, { boxId }, outputs) => sealOutputs(needs, tx, boxId as BoxId, outputs),
})
