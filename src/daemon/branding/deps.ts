import type { Clock, Random } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import type { Db } from '../db/index.ts'
import type { ObjectStore } from '../objects/index.ts'

/** Dependencies of the feature. Each function takes the part it uses. */
export type BrandingDeps = Readonly<{ db: Db; clock: Clock; random: Random; log: Logger; objects: ObjectStore }>
