import { pageOf } from '../../core/contract/index.ts'
import { problem } from '../../core/kit/index.ts'
import { matrixUserIdOf, type User, type UserStatus } from '../../core/users/index.ts'
import type { Db, DbOrTx } from '../db/index.ts'
import { existingTenant } from '../tenants/index.ts'
import { findUser, type UserRecord, usersAfter } from './users.repo.ts'

export type OneUser = Readonly<{ slug: string; localpart: string }>

type OfTenant = Readonly<{ slug: string; chatDomain: string }>

/** The user in API responses. Fields are listed one by one, so that new columns are not exposed by accident. */
export const userView = ({ slug, chatDomain }: OfTenant, user: UserRecord): User => ({
  id: user.id,
  tenant: slug,
  localpart: user.localpart,
  matrixUserId: matrixUserIdOf(user.localpart, chatDomain),
  displayName: user.displayName,
  locale: user.locale,
  email: user.email,
  avatarUrl: user.avatarUrl,
  roles: [...user.roles],
  status: user.status,
  createdAt: user.createdAt,
  updatedAt: user.updatedAt,
  passwordUnknownSince: user.passwordUnknownSince,
})

/** Throws NOT_FOUND naming tenant or user. */
export async function existingUser(db: DbOrTx, { slug, localpart }: OneUser) {
  const tenant = await existingTenant(db, slug)
  const user = await findUser(db, { tenantId: tenant.id, localpart })
  if (!user) throw problem('NOT_FOUND', `User ${localpart} of ${slug} does not exist. fix: \`tenantry users list ${slug}\` lists users`)
  return { tenant, user }
}

/** Throws NOT_FOUND, CONFLICT for an erased user. */
export async function changeableUser(db: DbOrTx, one: OneUser) {
  const found = await existingUser(db, one)
  if (found.user.status === 'erased')
    throw problem('CONFLICT', `User ${one.localpart} of ${one.slug} is erased and cannot be changed. fix: create a user with another name`)
  return found
}

type Page = Readonly<{
  slug: string
  status?: UserStatus | undefined
  withoutPassword?: boolean | undefined
  oldPassword?: boolean | undefined
  search?: string | undefined
  role?: string | undefined
  cursor?: string | undefined
  limit: number
}>

/** A page of a tenant's users by name. */
export async function listUsers({ db }: Readonly<{ db: Db }>, { slug, cursor, limit, ...filter }: Page) {
  const { tenant, users, nextCursor } = await pageOfUsers({ db }, { slug, cursor, limit, ...filter })
  return { users: users.map((user) => userView(tenant, user)), nextCursor }
}

/** The same as records. */
export async function pageOfUsers({ db }: Readonly<{ db: Db }>, { slug, cursor, limit, ...filter }: Page) {
  const tenant = await existingTenant(db, slug)
  const found = await usersAfter(db, { tenantId: tenant.id, ...filter, after: cursor, limit: limit + 1 })
  const { page, nextCursor } = pageOf(found, limit, ({ localpart }) => localpart)
  return { tenant, users: page, nextCursor }
}
