import attrs

MailArgs = attrs.make_class("MailArgs", ["address"])
MailResult = str
