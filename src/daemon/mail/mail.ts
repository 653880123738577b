export type Mail = Readonly<{
  /** Lower-case letters, digits, `_`. A mail that is sent twice keeps its id, so that receivers can drop duplicates. */
  id: string
  to: string
  subject: string
  text: string
  /** The same as HTML. All texts of people in it are escaped. */
  html?: string
  urgent?: boolean
}>

/** Where mail goes. `send` says in words where to; it throws UNAVAILABLE without a secret in it, and may be called again. */
export type Mailer = Readonly<{ send(mail: Mail, signal?: AbortSignal): Promise<string> }>
