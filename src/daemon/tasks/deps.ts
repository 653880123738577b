import type { Clock, Random } from '../../core/kit/index.ts'
import type { OwnSpace } from '../../core/spaces/index.ts'
import type { Db, DbOrTx } from '../db/index.ts'

/** Dependencies of the whole feature; each verb takes the part that it uses. */
export type TasksDeps = Readonly<{ db: Db; clock: Clock; random: Random; spacesOf: SpacesOf }>

/**
 * The spaces of a user. The feature that implements it records `user.joined` and `user.left` with each change of a membership, and `space.updated` with
 * each other change: bootstrap documents are cached until such an event.
 */
export type SpacesOf = (db: DbOrTx, user: Readonly<{ tenantId: string; userId: string }>) => Promise<readonly OwnSpace[]>
