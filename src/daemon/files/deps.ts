import type { Quotas } from '../../core/files/index.ts'
import type { Clock, Random } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import type { Revocations } from '../auth/index.ts'
import type { Db } from '../db/index.ts'
import type { ObjectStore } from '../objects/index.ts'

/** Dependencies of the feature. Each function takes the part it uses. */
export type FilesDeps = Readonly<{
  db: Db
  clock: Clock
  random: Random
  log: Logger
  objects: ObjectStore
  quotas: Quotas
  revocations: Revocations
}>

export type OfSpace = Readonly<{ spaceId: string }>
export type OneFile = OfSpace & Readonly<{ fileId: string }>

/** How long files and folders are retained after they, or their space, were deleted. */
export const deletedRetentionMs = 30 * 86_400_000
