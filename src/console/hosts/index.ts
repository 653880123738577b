// Hosts: the machines that boxes run on, their agents, and the registries that agents pull from.
// It invites and revokes; it never reaches a host itself.
import { consoleFeature, roleFor } from '../kit/index.ts'
import { titles } from './titles.ts'

export { hostsQuery } from './queries.ts'

export const hostsConsole = consoleFeature({
  name: 'hosts',
  pages: [
    {
      path: '/hosts',
      title: titles.title,
      load: () => import('./hosts-page.tsx'),
      nav: { group: 'Fleet', label: titles.title, order: 40, shortcut: 'h' },
    },
    { path: '/hosts/$name', title: titles.title, load: () => import('./host-page.tsx') },
  ],
  actions: [{ id: 'invite', label: titles.invite, detail: 'action', to: '/hosts', asks: 'invite', role: roleFor('hosts', 'inviteHost') }],
  live: { 'host.': ['hosts'] },
})
