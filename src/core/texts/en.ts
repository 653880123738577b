/** The catalogue that the others translate: mails to users of an organisation, and the page that a link of them opens. `{name}`: a placeholder. */
export const en = {
  hello: 'Hello,',
  'reset.subject': 'Your password for {organisation}',
  'reset.what': 'Somebody asked for a new password for your account at {organisation}. Set it with this link:',
  'reset.else': 'If you did not ask for it, ignore this mail: your password stays as it is.',
  'invitation.subject': 'Your account for {organisation}',
  'invitation.what': '{organisation} created an account for you. Choose your password with this link:',
  'invitation.else': 'If you do not know this organisation, ignore this mail.',
  'link.valid': 'Your login name is {username}. The link is valid once, until {until}.',
  'password.title': 'Password',
  'password.heading': 'Choose your password',
  'password.intro': 'For {username} at {organisation}. At least 8 characters; no well-known word.',
  'password.new': 'New password',
  'password.again': 'New password again',
  'password.devices': 'Log out my devices from the chat; messages only they can read are lost',
  'password.submit': 'Set password',
  'password.differ': 'The passwords do not match.',
  'password.short': 'The password must have at least 8 characters.',
  'password.long': 'The password is too long.',
  'password.common': 'The password must not be a common one: no well-known word, row of the keyboard or repetition.',
  'password.name': 'The password must not be the name of the user or of the organisation.',
  'password.refused': 'The password cannot be used: {reason}.',
  'password.done': 'Your password is set',
  'password.next': 'Log in with it. You can close this page.',
  'maintenance.announced.subject': 'Maintenance of the chat of {organisation}',
  'maintenance.announced.within': 'The chat server of {organisation} gets an update in this time: {when}.',
  'maintenance.announced.from': 'The chat server of {organisation} gets an update, at the earliest: {when}.',
  'maintenance.measured': 'The chat is unavailable for about {duration} then, as measured at the last update.',
  'maintenance.estimated': 'The chat is unavailable for about {duration} then; this is an estimate.',
  'maintenance.kept': 'No message is lost, and apps connect again by themselves.',
  'maintenance.moved': 'If the time changes, you see it here: {url}',
  'maintenance.cancelled.subject': 'No maintenance of the chat of {organisation}',
  'maintenance.cancelled.what': 'The update of the chat server of {organisation} that was announced does not take place.',
  'maintenance.reverted.subject': 'The chat of {organisation} returns to its former version',
  'maintenance.reverted.what':
    'The update of the chat server of {organisation} is taken back. The chat is unavailable for a short time again.',
  'notice.task': '{organisation}: you have a new task. Open the app to see it.',
  'notice.checkpoint': '{organisation}: your approval is needed. Open the app to give it.',
}

export type TextKey = keyof typeof en
/** A catalogue in another language: every key, with the placeholders of the English text. */
export type Texts = Readonly<Record<TextKey, string>>
