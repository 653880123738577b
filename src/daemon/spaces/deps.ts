import type { Homeservers } from '../../core/homeserver/index.ts'
import type { Clock, Random } from '../../core/kit/index.ts'
import type { RoleBook } from '../../core/users/index.ts'
import type { Logger } from '../../node/index.ts'
import type { Db } from '../db/index.ts'

/** Dependencies of the feature. Each function takes the part it uses. */
export type SpacesDeps = Readonly<{ db: Db; clock: Clock; random: Random; log: Logger; homeservers: Homeservers }>

/** `roles` decides which users the caller may see. */
export type PutDeps = Pick<SpacesDeps, 'db' | 'clock'> & Readonly<{ roles: RoleBook }>
