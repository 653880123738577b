// Hosts: the machines that boxes run on, their agents, and the registries that agents pull from.
// It invites and revokes; it never reaches a host itself.
import { consoleFeature, roleFor } from '../kit/index.ts'
import { words } from './words.ts'

export { gigabytes, hostsQuery } from './queries.ts'

export const hostsConsole = consoleFeature({
  name: 'hosts',
  pages: [
    { path: '/hosts', title: words.title, load: () => import('./hosts-page.tsx'), nav: { group: 'Fleet', label: words.title, order: 40 } },
    { path: '/hosts/$name', title: words.title, load: () => import('./host-page.tsx') },
  ],
  actions: [{ id: 'invite', label: words.invite, detail: 'action', to: '/hosts', asks: 'invite', role: roleFor('hosts', 'inviteHost') }],
  live: { 'host.': ['hosts'] },
})
