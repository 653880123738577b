import type { Texts } from './en.ts'

export const ar: Texts = {
  hello: 'مرحبًا،',
  'reset.subject': 'كلمة المرور الخاصة بك لدى {organisation}',
  'reset.what': 'طُلبت كلمة مرور جديدة لحسابك لدى {organisation}. عيّنها عبر هذا الرابط:',
  'reset.else': 'إذا لم تطلب ذلك فتجاهل هذه الرسالة: تبقى كلمة المرور كما هي.',
  'invitation.subject': 'حسابك لدى {organisation}',
  'invitation.what': 'أُنشئ لك حساب لدى {organisation}. اختر كلمة المرور عبر هذا الرابط:',
  'invitation.else': 'إذا كنت لا تعرف هذه المؤسسة فتجاهل هذه الرسالة.',
  'link.valid': 'اسم الدخول الخاص بك: {username}. الرابط صالح لمرة واحدة حتى {until}.',
  'maintenance.announced.subject': 'صيانة محادثة {organisation}',
  'maintenance.announced.within': 'سيُحدَّث خادم محادثة {organisation} في هذه المدة: من {from} إلى {to}.',
  'maintenance.announced.from': 'سيُحدَّث خادم محادثة {organisation}، في أقرب وقت: {from}.',
  'maintenance.measured': 'لن تكون المحادثة متاحة خلال ذلك لنحو {duration}، كما قيس في آخر تحديث.',
  'maintenance.estimated': 'لن تكون المحادثة متاحة خلال ذلك لنحو {duration}، وهذا تقدير.',
  'maintenance.kept': 'لا تضيع أي رسالة، وتتصل التطبيقات من جديد من تلقاء نفسها.',
  'maintenance.moved': 'إذا تغيّر الموعد فستراه هنا: {url}',
  'maintenance.cancelled.subject': 'لا صيانة لمحادثة {organisation}',
  'maintenance.cancelled.what': 'لن يجري التحديث المعلن لخادم محادثة {organisation}.',
  'maintenance.undone.subject': 'تعود محادثة {organisation} إلى إصدارها السابق',
  'maintenance.undone.what': 'يُتراجع عن تحديث خادم محادثة {organisation}. لن تكون المحادثة متاحة لوقت قصير مرة أخرى.',
}
