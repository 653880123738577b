import type { BoardDefinition, TriggerPlace } from '../../../core/boards/index.ts'
import type { Clock, Random } from '../../../core/kit/index.ts'
import type { OwnSpace } from '../../../core/spaces/index.ts'
import type { RoleBook } from '../../../core/users/index.ts'
import type { Db, DbOrTx, Tx } from '../../db/index.ts'

type TriggeredBoard = Readonly<{ tenantId: string; boardId: string; spaceId: string | null; definition: BoardDefinition }>
type User = Readonly<{ tenantId: string; userId: string }>

/** Dependencies of the whole feature; each verb takes the part that it uses. */
export type BoardsDeps = Readonly<{
  db: Db
  clock: Clock
  random: Random
  roles: RoleBook
  spacesOf: (db: DbOrTx, user: User) => Promise<readonly OwnSpace[]>
  /** Ids of the rooms of a tenant's spaces. */
  roomsOf: (db: DbOrTx, tenant: Readonly<{ tenantId: string }>) => Promise<readonly string[]>
  /** Ids of the rooms of the spaces that a user is a member of. */
  ownRoomsOf: (db: DbOrTx, user: User) => Promise<readonly string[]>
  /** Findings about the triggers of a board. Asks the chat server, so it must not be called in a transaction. */
  triggerPlace: (db: Db, board: TriggeredBoard) => Promise<TriggerPlace>
  /** Replaces the triggers of a board in the transaction that publishes it, or that archives it (`definition` null). */
  replaceTriggers: (tx: Tx, board: Omit<TriggeredBoard, 'definition'> & Readonly<{ definition: BoardDefinition | null }>) => Promise<void>
}>
