import { passwordContract, peopleContract } from '../../core/people/index.ts'
import type { Revocations } from '../auth/index.ts'
import { serveContract } from '../http/index.ts'
import {
  changePerson,
  createPerson,
  disablePerson,
  enablePerson,
  endPersonSessions,
  erasePerson,
  exportOnePerson,
  resetPersonPassword,
  unlockPerson,
} from './administer.ts'
import type { PeopleDeps } from './deps.ts'
import { forgotPassword, resetByLink } from './forgot-password.ts'
import { importPeople } from './import-people.ts'
import { invitePerson } from './invite.ts'
import { sendPasswordPage, showPasswordPage } from './password-page.ts'
import { listPeople, showPerson } from './show-people.ts'

export const peopleRoutes = (deps: PeopleDeps & Readonly<{ revocations: Revocations }>) => [
  ...serveContract(peopleContract, {
    listPeople: ({ actor, query }) => listPeople(deps, actor, query),
    createPerson: ({ actor, body }) => createPerson(deps, actor, body),
    importPeople: ({ actor, body, signal }) => importPeople(deps, actor, { ...body, signal }),
    showPerson: ({ actor, params }) => showPerson(deps, actor, params),
    changePerson: ({ actor, params, body }) => changePerson(deps, actor, { ...params, ...body }),
    disablePerson: ({ actor, params, body }) => disablePerson(deps, actor, { ...params, ...body }),
    enablePerson: ({ actor, params }) => enablePerson(deps, actor, params),
    unlockPerson: ({ actor, params }) => unlockPerson(deps, actor, params),
    endPersonSessions: ({ actor, params }) => endPersonSessions(deps, actor, params),
    resetPersonPassword: ({ actor, params, body }) => resetPersonPassword(deps, actor, { ...params, ...body }),
    invitePerson: ({ actor, params }) => invitePerson(deps, actor, params),
    erasePerson: ({ actor, params }) => erasePerson(deps, actor, params),
    exportPerson: ({ actor, params, body }) => exportOnePerson(deps, actor, { ...params, ...body }),
  }),
  ...serveContract(passwordContract, {
    forgotPassword: ({ body, address }) => forgotPassword(deps, { ...body, address }),
    resetForgottenPassword: ({ body }) => resetByLink(deps, body),
    showPasswordPage: ({ query }) => showPasswordPage(deps, query),
    sendPasswordPage: ({ query, raw }) => sendPasswordPage(deps, { ...query, raw }),
  }),
]
