import type { Capability } from '../../../core/kit/index.ts'
import type { KitTexts } from '../../kit/index.ts'
import { enLists } from './en-lists.ts'
import { enPeople } from './en-people.ts'
import { enRecord } from './en-record.ts'

const capabilities: Readonly<Record<Capability, string>> = {
  manageModules: 'manage modules',
  manageMarketplace: 'manage the marketplace',
  manageSpaces: 'create spaces',
  manageBoards: 'build boards',
  manageRuns: 'manage runs',
  manageUsers: 'manage people',
  manageBilling: 'manage bills',
  readAudit: 'read the record',
  readContacts: 'see all people',
  reviewStore: 'review modules',
}

export const en = {
  /** Absent: the kit's own, which are English. */
  kit: undefined as KitTexts | undefined,
  locale: 'en-GB',
  title: 'School',
  menu: 'Pages',
  appearance: 'Appearance',
  skip: 'Skip to the page',
  notFound: 'This page does not exist',
  noPages: 'Your roles open no page here. Your own password is under Account.',
  mayNot: (capability: Capability) => `You need a role that may ${capabilities[capability]}.`,
  capabilities,
  /** By the title of a role that is shipped. */
  roleTitles: {} as Readonly<Record<string, string>>,
  all: 'all',
  none: 'none',
  close: 'Close',
  save: 'Save',
  optional: 'optional',
  shownOnce: 'It is shown only now. Pass it on in person or on paper.',
  login: {
    title: 'Log in',
    tenant: 'School',
    tenantHint: 'Short name, or the name after the colon in your chat id',
    username: 'Login name',
    password: 'Password',
    submit: 'Log in',
    forgot: 'Forgotten password?',
    forgotTitle: 'Forgotten password',
    forgotHint: 'If the account has a mail address, it gets a link that sets a new password.',
    forgotSubmit: 'Send the link',
    forgotDone: 'If this account exists and has a mail address, a mail is on its way. The link is valid for 30 minutes.',
    back: 'Back to the login',
    newTitle: 'Choose a password',
    newHint: 'Your password is an initial one. At least 8 characters; no well-known word.',
    current: 'Current password',
    newPassword: 'New password',
    repeat: 'New password again',
    differ: 'The passwords do not match',
  },
  account: {
    title: 'Account',
    user: 'Login name',
    roles: 'Roles',
    language: 'Language',
    theme: 'Colours',
    themes: { system: 'as the device', light: 'light', dark: 'dark' },
    password: 'Change your password',
    changed: 'Your password is changed.',
    submit: 'Change password',
    logout: 'Log out',
  },
  ...enPeople,
  ...enRecord,
  ...enLists,
}

export type Words = typeof en
