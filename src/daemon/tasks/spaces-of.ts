import type { OwnSpace } from '../../core/spaces/index.ts'
import type { DbOrTx } from '../db/index.ts'

/**
 * The spaces that a user is a member of now. This is all that tasks and the bootstrap document need to know of spaces. Whoever answers it records
 * `user.joined` and `user.left` with each change of a membership, and `space.updated` with each other change: the document is kept until such an event.
 */
export type SpacesOf = (db: DbOrTx, user: Readonly<{ tenantId: string; userId: string }>) => Promise<readonly OwnSpace[]>
