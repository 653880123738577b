import type { Clock, Random } from '../../core/kit/index.ts'
import type { RoleBook } from '../../core/users/index.ts'
import type { WindowRules } from '../../core/windows/index.ts'
import type { Logger } from '../../node/index.ts'
import type { Db } from '../db/index.ts'
import type { Mailer } from '../mail/index.ts'

/** Dependencies of the feature. Each function takes the part it uses. */
export type MaintenanceDeps = Readonly<{
  db: Db
  clock: Clock
  random: Random
  log: Logger
  roles: RoleBook
  /** Maintenance windows of tenants without their own, and their time zone. */
  windows: WindowRules
  /** The address of this daemon: mails lead to the page of schools there. */
  baseUrl: string
  /** How long before its beginning an update is announced. */
  leadMs: number
  /** Absent: no mail is set up. */
  mailer?: Mailer | undefined
}>
