import { usersContract } from '../../core/users/index.ts'
import { serveContract } from '../http/index.ts'
import { changeUser, disableUser, enableUser } from './change-user.ts'
import { createdView, createUser } from './create-user.ts'
import type { UsersDeps } from './deps.ts'
import { importUsers } from './import-users.ts'
import { resetPassword, resetView } from './reset-password.ts'
import { reconcileBox } from './resync-users.ts'
import { existingUser, listUsers, userView } from './show-users.ts'

export const usersRoutes = (deps: UsersDeps) =>
  serveContract(usersContract, {
    listUsers: ({ params, query }) => listUsers(deps, { ...params, ...query }),
    createUser: async ({ actor, params, body }) => createdView(await createUser(deps, actor, { ...params, ...body })),
    importUsers: ({ actor, params, body, signal }) => importUsers({ ...deps, signal }, actor, { ...params, ...body }),
    showUser: async ({ params }) => {
      const { tenant, user } = await existingUser(deps.db, params)
      return userView(tenant, user)
    },
    changeUser: ({ actor, params, body }) => changeUser(deps, actor, { ...params, ...body }),
    resetUserPassword: async ({ actor, params, body }) => resetView(await resetPassword(deps, actor, { ...params, ...body })),
    disableUser: ({ actor, params, body }) => disableUser(deps, actor, { ...params, ...body }),
    reconcileBox: ({ actor, params, body }) => reconcileBox(deps, actor, { ...params, ...body }),
    enableUser: ({ actor, params }) => enableUser(deps, actor, params),
  })
