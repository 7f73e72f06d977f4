# cmake -DMODEL=rules/model.txt -DOUTPUT=model_data.c -P embed_model.cmake: the weights of the model as an array of bytes.
file(READ ${MODEL} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"model_data.h\"\n\nconst char detect__model_text[] = {\n${bytes}0};\n")
