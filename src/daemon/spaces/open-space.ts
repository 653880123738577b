import { type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import { type SpaceRights, type SpaceRole, spaceRights } from '../../core/spaces/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { roleIn } from './members.repo.ts'
import { findSpace, type SpaceRecord } from './spaces.repo.ts'

type Caller = Pick<PlatformPrincipal, 'userId' | 'tenantId' | 'capabilities'>
type Opened = Readonly<{ space: SpaceRecord; role: SpaceRole | null; rights: SpaceRights }>

/**
 * A space of the caller's own tenant, and what the caller may do there. Throws NOT_FOUND, the same whether there is none, it is another
 * tenant's, or the caller may not find it; FORBIDDEN to whoever finds it but lacks more.
 */
export async function openSpace(
  db: DbOrTx,
  { userId, tenantId, capabilities }: Caller,
  { spaceId, right = 'find' }: Readonly<{ spaceId: string; right?: keyof SpaceRights }>,
): Promise<Opened> {
  const space = await findSpace(db, { tenantId, spaceId })
  const role = space ? await roleIn(db, { spaceId, userId }) : null
  const rights = space && spaceRights({ visibility: space.visibility, role }, { capabilities })
  if (!space || !rights?.find || (right !== 'manage' && !rights[right])) throw noSuchSpace(spaceId)
  if (!rights[right]) throw problem('FORBIDDEN', `${space.name} is managed by its owners: ask one of them`)
  return { space, role, rights }
}

const noSuchSpace = (spaceId: string) => problem('NOT_FOUND', `there is no space ${spaceId} that you may see`)
