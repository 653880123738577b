import { type Clock, type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import type { OwnProfile } from '../../core/profile/index.ts'
import { profileContract as contract } from '../../core/profile/index.ts'
import type { RoleBook } from '../../core/users/index.ts'
import type { Db } from '../db/index.ts'
import { serveContract } from '../http/index.ts'
import { changeProfile, findUserById, type UserRecord } from '../users/index.ts'

type Deps = Readonly<{ db: Db; clock: Clock; roles: RoleBook }>

const view = ({ userId, matrixUserId }: PlatformPrincipal, { displayName, avatarUrl, locale }: UserRecord): OwnProfile => ({
  userId,
  matrixUserId,
  displayName,
  avatarUrl,
  locale,
})

export const profileRoutes = (deps: Deps) =>
  serveContract(contract, {
    showProfile: async ({ actor }) => {
      const user = await findUserById(deps.db, actor.userId)
      if (!user) throw problem('UNAUTHENTICATED', 'Your account no longer exists')
      return view(actor, user)
    },
    changeProfile: async ({ actor, body }) => view(actor, await changeProfile(deps, actor, body)),
    showPermissions: ({ actor }) => ({ roles: [...actor.roles], permissions: [...actor.capabilities] }),
  })
