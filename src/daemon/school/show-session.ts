import { brandingOf } from '../../core/branding/index.ts'
import type { PlatformPrincipal } from '../../core/kit/index.ts'
import type { SchoolSession } from '../../core/school/index.ts'
import { rolesBeyond } from '../../core/users/index.ts'
import { existingTenant } from '../tenants/index.ts'
import { findUserById } from '../users/index.ts'
import type { SchoolDeps } from './deps.ts'

type Deps = Pick<SchoolDeps, 'db' | 'roles'>

/** The user of the page, and which roles it gives out. */
export async function showSession({ db, roles: book }: Deps, actor: PlatformPrincipal): Promise<SchoolSession> {
  const { slug, name, branding } = await existingTenant(db, actor.tenantSlug)
  const user = await findUserById(db, actor.userId)
  if (!user) throw new Error(`session of ${actor.userId}, who does not exist`)
  const beyond = rolesBeyond(book, actor.capabilities, Object.keys(book.roles))
  return {
    tenant: { slug, name },
    branding: brandingOf(branding),
    user: {
      ...{ userId: user.id, username: user.localpart, displayName: user.displayName, locale: user.locale },
      roles: [...user.roles],
    },
    capabilities: [...actor.capabilities],
    roles: Object.entries(book.roles).map(([role, { title = role }]) => ({ name: role, title, isGrantable: !beyond.includes(role) })),
    passwordChangeRequired: user.hasInitialPassword,
  }
}
