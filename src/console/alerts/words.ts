import type { AlertDetail, ChannelState } from '../../core/alerts/index.ts'
import { plural } from '../../core/kit/index.ts'
import { titles } from './titles.ts'

export const words = {
  ...titles,
  answer: (open: number) => (open === 0 ? 'No open alert.' : `${plural(open, 'open alert')}.`),
  empty: 'No alerts',
  emptyHint: 'Alerts reach people through channels. Send a test message to see whether they do.',
  noMatch: 'No alert with this status',
  test: 'Send test message…',
  testTitle: 'Send a test message?',
  testEffect: 'Every configured recipient gets one message. No alert is created.',
  testOne: 'Test',
  testOneTitle: (name: string) => `Send a test message to ${name}?`,
  testOneEffect: 'Its recipients get one message. No alert is created.',
  outcome: 'Outcome of the test',
  channelsAnswer: (channels: readonly ChannelState[]) => {
    if (channels.length === 0) return 'No recipient gets alerts.'
    const failing = channels.filter(({ last }) => last !== null && last.error !== null).length
    return `${plural(channels.length, 'recipient')}, ${failing === 0 ? 'none failing' : `${failing} failing`}.`
  },
  noMessage: 'none',
  noChannels: 'No channels',
  noChannelsHint: 'Set alerts.channels or alerts.mailTo in the settings of the daemon, and restart it.',
  acknowledge: 'Acknowledge…',
  acknowledgeTitle: (id: number) => `Acknowledge alert ${id}?`,
  acknowledgeEffect: 'Its reminders stop for everybody. The cause stays: the next command is still to run.',
  resend: 'Send again…',
  resendTitle: (id: number) => `Send the messages of alert ${id} again?`,
  resendEffect: 'Messages that failed are sent again to the same recipients.',
  next: 'Next',
  details: 'Details',
  messages: 'Messages',
  noMessages: ({ summaryId, hasChannels }: Pick<AlertDetail, 'summaryId' | 'hasChannels'>) => {
    if (summaryId !== undefined) return `Not sent by itself: the message of alert ${summaryId} covers it.`
    return hasChannels ? 'Not sent yet.' : 'Not sent: no channel is configured for it.'
  },
  status: 'Status',
  deadJobs: 'Dead jobs',
} as const
