import { plural } from '../../core/kit/index.ts'
import { titles } from './titles.ts'

const noServer = 'Without a mail server, the daemon writes the mail to its mail folder.'

export const words = {
  ...titles,
  waiting: (count: number, areMore: boolean) =>
    `${areMore ? 'More than ' : ''}${plural(count, 'submission')} ${count === 1 && !areMore ? 'waits' : 'wait'} for a review.`,
  none: 'No submission waits for a review',
  approve: 'Approve',
  approveTitle: (name: string) => `Approve ${name}?`,
  approveConsequence: `Publishes this version in the catalogue and signs it. Tenants can install it at once; the developer gets a mail. ${noServer}`,
  reject: 'Reject',
  rejectTitle: (name: string) => `Reject ${name}?`,
  rejectConsequence: `The version is not published. The developer gets a mail with your reason and can submit a new version. ${noServer}`,
  permissions: 'Permissions',
  noPermissions: 'none',
  warnings: 'Worth noticing',
  test: 'Test in the sandbox',
  log: 'Log of the test',
  changes: (since: string | null) => (since ? `Changes since ${since}` : 'First version'),
  noChanges: 'No difference.',
  source: 'Source',
  notShown: 'Binary or large: read it in the package.',
  findings: (count: number) => plural(count, 'finding'),
  download: 'Download package',
} as const
