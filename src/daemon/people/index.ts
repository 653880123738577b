// People of a tenant, administered by the tenant itself, and passwords that are set by the link of a mail.
// A second way to the verbs of operators: it adds the rules of the caller, and changes no user by itself. Sends links, never passwords.
import './people.tables.ts'
import type { Revocations } from '../auth/index.ts'
import { feature } from '../feature/index.ts'
import type { PeopleDeps } from './deps.ts'
import { findForgotten, forgottenTopic } from './forgot-password.ts'
import { mailLink } from './mail-link.ts'
import { deleteOldLinks, linkTopic } from './password-links.ts'
import { peopleRoutes } from './people.routes.ts'

export type { PeopleDeps } from './deps.ts'
export { peopleRoutes } from './people.routes.ts'

export const peopleFeature = feature<PeopleDeps & Readonly<{ revocations: Revocations }>>({
  name: 'people',
  routes: peopleRoutes,
  jobs: (deps) => ({ [forgottenTopic]: findForgotten(deps), [linkTopic]: mailLink(deps) }),
  cleanup: (deps) => [(signal) => deleteOldLinks(deps, signal)],
})
