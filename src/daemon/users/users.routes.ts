import { usersContract } from '../../core/users/index.ts'
import { type Served, serve } from '../http/index.ts'
import { changeUser } from './change-user.ts'
import { createUser } from './create-user.ts'
import { disableUser, enableUser } from './disable-user.ts'
import { importUsers } from './import-users.ts'
import type { UsersNeeds } from './needs.ts'
import { reconcileBox } from './reconcile-box.ts'
import { resetPassword } from './reset-password.ts'
import { existingUser, listUsers, userView } from './show-users.ts'

export const usersRoutes = (needs: UsersNeeds): Served[] => [
  serve(usersContract.listUsers, ({ params, query }) => listUsers(needs, { ...params, ...query })),
  serve(usersContract.createUser, ({ actor, params, body }) => createUser(needs, actor, { ...params, ...body })),
  serve(usersContract.importUsers, ({ actor, params, body, signal }) => importUsers(needs, actor, { ...params, ...body }, signal)),
  serve(usersContract.showUser, async ({ params }) => {
    const { tenant, user } = await existingUser(needs.db, params)
    return userView(tenant, user)
  }),
  serve(usersContract.changeUser, ({ actor, params, body }) => changeUser(needs, actor, { ...params, ...body })),
  serve(usersContract.resetUserPassword, ({ actor, params, body }) => resetPassword(needs, actor, { ...params, ...body })),
  serve(usersContract.disableUser, ({ actor, params, body }) => disableUser(needs, actor, { ...params, ...body })),
  serve(usersContract.reconcileBox, ({ actor, params, body }) => reconcileBox(needs, actor, { ...params, ...body })),
  serve(usersContract.enableUser, ({ actor, params }) => enableUser(needs, actor, params)),
]
