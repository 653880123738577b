// Notices to single users in the chat, of which their phones notify by the chat server's pushers. The bot writes them in a room of each user.
// It decides in which room and language; which change asks whom is decided by tasks and flows. A notice has no content: it passes the makers of phones.
import { feature } from '../feature/index.ts'
import { type NoticesDeps, noticeJobs } from './send-notices.ts'

export { noticeJob } from './send-notices.ts'

export const noticesFeature = feature<NoticesDeps>({ name: 'notices', jobs: noticeJobs })
