import type { Clock, Random } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import type { SpacesOf } from './spaces-of.ts'

/** All that this room needs; each verb takes the part it uses. */
export type TasksDeps = Readonly<{ db: Db; clock: Clock; random: Random; spacesOf: SpacesOf }>
